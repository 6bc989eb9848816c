import { spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { marshall } from "@aws-sdk/util-dynamodb";
import { type Built, build, contestants, environment, type Kind, kinds } from "./contestants.ts";
import { type Benchmark, type Goal, type Spread, spreadOf } from "./measure.ts";
import { answerItemsWith, answerTo } from "./stub-transport.ts";
import { storedRecord } from "./workload.ts";

/** From the start of loading the function's module to its first answer. */
interface Start {
  wallMs: number;
  cpuMs: number;
  /** From the start of the process, Node's own included. */
  sinceStartMs: number;
}

/**
 * CPU time that a cold start should take at the most, as a multiple of the peer's. The peer has none of what Offload's
 * functions do besides: limits, quotas, priorities, audit.
 */
const atMost: Record<Kind, number> = { worker: 0.45, submit: 0.33, status: 0.33 };

/** Starts count more than the other benchmarks' rounds: one lasts a fraction of a second. */
const roundsFactor = 3;

/**
 * First answers of fresh processes, against a server on this machine that answers at once. What counts is the time from the
 * start of the module's load: Node's own start, and that of this benchmark, are the same for everybody.
 */
export const coldStart: Benchmark = {
  name: "cold-start",
  async run({ folder, rounds, note }) {
    answerItemsWith(marshall(storedRecord()));
    const server = await startServer();
    const env = environment(folder, { table: server.url, queue: server.url });
    const rows: (string | number)[][] = [];
    const goals: Goal[] = [];
    const data: Record<string, unknown> = {};
    for (const kind of kinds) {
      const built = build(folder, kind);
      const starts = await startAll(built, env, rounds * roundsFactor, (round) => note(`${kind}, start ${round}`));
      const own = starts.get("offload");
      const peer = starts.get("peer");
      if (own !== undefined && peer !== undefined) {
        const what = `${kind}: CPU of a cold start, as a multiple of the peer's`;
        goals.push({ what, value: own.cpu.least / peer.cpu.least, atMost: atMost[kind] });
      }
      for (const one of built) rows.push(rowOf(kind, one, starts.get(one.contestant)));
      data[kind] = {
        starts: Object.fromEntries(starts),
        bytes: built.map(({ contestant, bytes }) => ({ contestant, bytes })),
      };
    }
    server.close();
    const columns = [
      ...["", "", "first answer (ms)", "half of the rounds", "CPU (ms)", "least", "since process start (ms)"],
      ...["bundle (KB)", "of it at start"],
    ];
    return { name: "cold-start", title: "Cold start: module load to first answer", columns, rows, goals, data };
  },
};

interface Spreads {
  wall: Spread;
  cpu: Spread;
  sinceStart: Spread;
}
type Starts = Map<string, Spreads>;

async function startAll(
  built: readonly Built[],
  env: Record<string, string>,
  rounds: number,
  note: (round: number) => void,
): Promise<Starts> {
  const taken = new Map<string, Start[]>(contestants.map((contestant) => [contestant, []]));
  for (let round = 0; round <= rounds; round++) {
    note(round);
    for (const one of built) {
      const start = await startOnce(one, env);
      // The first round reads the files from the disk.
      if (round > 0) taken.get(one.contestant)?.push(start);
    }
  }
  const spread = (starts: Start[], field: keyof Start) => spreadOf(starts.map((start) => start[field]));
  return new Map(
    [...taken].map(([name, starts]) => [
      name,
      { wall: spread(starts, "wallMs"), cpu: spread(starts, "cpuMs"), sinceStart: spread(starts, "sinceStartMs") },
    ]),
  );
}

const rowOf = (kind: Kind, { contestant, bytes, startBytes }: Built, start: Spreads | undefined) => [
  kind,
  contestant,
  start?.wall.median.toFixed(0) ?? "",
  `${start?.wall.low.toFixed(0)} to ${start?.wall.high.toFixed(0)}`,
  start?.cpu.median.toFixed(0) ?? "",
  start?.cpu.least.toFixed(0) ?? "",
  start?.sinceStart.median.toFixed(0) ?? "",
  (bytes / 1000).toFixed(0),
  (startBytes / 1000).toFixed(0),
];

function startOnce({ file, kind }: Built, env: Record<string, string>): Promise<Start> {
  const script = fileURLToPath(new URL("first-answer.ts", import.meta.url));
  const child = spawn(process.execPath, [script, file, kind], {
    env: { PATH: process.env.PATH ?? "", ...env },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  return new Promise((resolve, reject) => {
    child.once("message", (start: Start) => resolve(start));
    child.once("exit", (code) => reject(new Error(`${file} ended with ${code} before its first answer`)));
  });
}

/** DynamoDB and SQS on this machine, as far as one call goes. */
async function startServer(): Promise<{ url: string; close(): void }> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const operation = String(request.headers["x-amz-target"]).split(".").at(-1) ?? "";
    response.writeHead(200, { "content-type": "application/x-amz-json-1.0" });
    response.end(answerTo(operation, Buffer.concat(chunks).toString("utf8")));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
