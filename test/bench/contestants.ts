import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync, type Metafile } from "esbuild";
import { buildCode, buildOptions, buildThreads } from "../../lib/esbuild.ts";
import { tiers } from "../../src/core/model/words.ts";
import { toCatalog } from "../../src/core/task/to-catalog.ts";
import { leanClients } from "../../src/installed/installation.ts";
import { toEnv } from "../../src/settings/config.ts";
import { taskTypes } from "../support/own-types.ts";
import type { Ask } from "./contestant-process.ts";
import { table } from "./workload.ts";

/** Who is compared: the bare AWS calls, the same work on Powertools, and Offload. */
export const contestants = ["floor", "peer", "offload"] as const;
export type Contestant = (typeof contestants)[number];

/** Which function. */
export const kinds = ["worker", "submit", "status"] as const;
export type Kind = (typeof kinds)[number];

/** Work of a contestant's process: that of a function, of a task with steps, or of a whole task in memory. */
export type Workload = Kind | "steps" | "ten-steps" | "durable" | "memory" | "memory-sleeps";

/** A built contestant: the file with its handler, and its bytes, all files together. */
export interface Built {
  /** `stub`: the transport alone. `direct`: a function that submits without HTTP. `durable`: a durable function of Lambda. */
  contestant: Contestant | "stub" | "direct" | "durable";
  kind: Workload;
  file: string;
  bytes: number;
  /** Bytes that are loaded at its start: without what is imported when it is first needed. */
  startBytes: number;
}

/** Bundles everybody as Offload's functions are bundled for Lambda. */
export function build(folder: string, kind: Kind): Built[] {
  return contestants.map((contestant) => {
    const outdir = join(folder, `${contestant}-${kind}`);
    mkdirSync(outdir, { recursive: true });
    const metafile = contestant === "offload" ? buildCode(kind, outdir) : bundleContestant(contestant, kind, outdir);
    return { contestant, kind, file: join(outdir, "index.mjs"), ...bytesOf(metafile) };
  });
}

/** Bundles the requests of a function with nothing around them: what the transport itself takes. */
export function buildStub(folder: string, kind: Kind): Built {
  const outdir = join(folder, `stub-${kind}`);
  const file = fileURLToPath(new URL("contestants/stub.ts", import.meta.url));
  const { metafile } = buildSync({ ...buildOptions, entryPoints: { index: file }, outdir });
  return { contestant: "stub", kind, file: join(outdir, "index.mjs"), ...bytesOf(metafile) };
}

/** Bundles a function that submits directly, with the small clients, as `offload/cdk` advises. */
export function buildDirect(folder: string): Built {
  const outdir = join(folder, "direct-submit");
  const metafile = bundleContestant("direct", "submit", outdir, ["module", leanClients]);
  return { contestant: "direct", kind: "submit", file: join(outdir, "index.mjs"), ...bytesOf(metafile) };
}

/** Bundles a function that makes five steps: Offload's worker as it is deployed, or a durable function. */
export function buildSteps(folder: string, contestant: "offload" | "durable"): Built {
  const outdir = join(folder, `${contestant}-steps`);
  const metafile = bundleContestant(
    contestant,
    "steps",
    outdir,
    contestant === "offload" ? ["module", leanClients] : [],
  );
  if (contestant === "offload") buildThreads(outdir);
  const kind = contestant === "offload" ? "steps" : "durable";
  return { contestant, kind, file: join(outdir, "index.mjs"), ...bytesOf(metafile) };
}

/** A contestant that runs whole tasks in memory. It is not bundled, because AWS's testing package starts a thread from a file of its own. */
export function inMemory(
  name: "offload-memory" | "durable-memory" | "durable-bare",
  kind: "memory" | "memory-sleeps",
): Built {
  const file = fileURLToPath(new URL(`contestants/${name}.ts`, import.meta.url));
  const contestant = name === "offload-memory" ? "offload" : "durable";
  return { contestant, kind, file, bytes: 0, startBytes: 0 };
}

function bundleContestant(
  contestant: Built["contestant"],
  kind: Kind | "steps",
  outdir: string,
  conditions: string[] = [],
): Metafile {
  const entryPoints = { index: fileURLToPath(new URL(`contestants/${contestant}-${kind}.ts`, import.meta.url)) };
  const given = conditions.length === 0 ? {} : { conditions };
  return buildSync({ ...buildOptions, ...given, entryPoints, outdir }).metafile;
}

function bytesOf({ outputs }: Metafile): { bytes: number; startBytes: number } {
  const loaded = new Set(Object.keys(outputs).filter((path) => /(^|\/)index\.mjs$/.test(path)));
  for (const path of loaded) {
    for (const { kind, path: target } of outputs[path]?.imports ?? []) {
      if (kind === "import-statement" && outputs[target] !== undefined) loaded.add(target);
    }
  }
  const sum = (paths: Iterable<string>) => [...paths].reduce((total, path) => total + (outputs[path]?.bytes ?? 0), 0);
  return { bytes: sum(Object.keys(outputs)), startBytes: sum(loaded) };
}

/** Where a contestant finds DynamoDB and SQS. */
export interface Endpoints {
  table: string;
  queue: string;
}

const catalog = JSON.stringify(toCatalog(await taskTypes()));

/** A port that nobody listens at: for processes whose requests never leave them. */
const nowhere = { table: "http://127.0.0.1:9", queue: "http://127.0.0.1:9" };

/** The environment that every contestant finds; more than a function of Offload would have, as one serves all. */
export function environment(folder: string, endpoints: Endpoints = nowhere): Record<string, string> {
  const queueUrl = `${endpoints.queue}/000000000000/offload-normal`;
  const catalogFile = join(folder, "catalog.json");
  writeFileSync(catalogFile, catalog);
  const urls = Object.fromEntries(tiers.map((tier) => [tier, queueUrl])) as Record<(typeof tiers)[number], string>;
  return {
    ...toEnv({
      ...{ table, bucket: "bench", queueUrls: urls, dlqUrls: urls },
      ...{ scheduleGroup: "bench", fireArn: "arn:aws:lambda:fire" },
      ...{ schedulerRoleArn: "arn:aws:iam::role", schedulerDlqArn: "arn:aws:sqs:dlq", catalogFile, probes: "1" },
      ...{ tier: "normal", timeScale: "1", cursorKey: "k".repeat(32), version: "bench", localHealth: "{}" },
    }),
    BENCH_TABLE: table,
    BENCH_QUEUE_URL: queueUrl,
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "AKIDAAAAAAAAAAAAAAAA",
    AWS_SECRET_ACCESS_KEY: "secretsecretsecretsecretsecretsecret",
    AWS_SESSION_TOKEN: "session-token",
    AWS_LAMBDA_FUNCTION_NAME: "bench",
    AWS_ENDPOINT_URL_DYNAMODB: endpoints.table,
    AWS_ENDPOINT_URL_SQS: endpoints.queue,
    AWS_ENDPOINT_URL_LAMBDA: nowhere.queue,
    AWS_ENDPOINT_URL_SCHEDULER: nowhere.queue,
    POWERTOOLS_SERVICE_NAME: "bench",
  };
}

/** A contestant in a process of its own. What it logs goes nowhere, but is written. */
export class Process {
  readonly #child: ChildProcess;
  readonly #ended: Promise<never>;

  private constructor(child: ChildProcess, who: string) {
    this.#child = child;
    this.#ended = once(child, "exit").then(([code, signal]) => {
      throw new Error(`${who} ended with ${code ?? signal}`);
    });
    this.#ended.catch(() => {});
  }

  static async start(
    built: Built,
    env: Record<string, string>,
    transport: "stub" | "network" = "stub",
  ): Promise<Process> {
    const script = fileURLToPath(new URL("contestant-process.ts", import.meta.url));
    const child = fork(script, [built.file, built.kind, transport], {
      env: { PATH: process.env.PATH ?? "", ...env },
      execArgv: [],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    const started = new Process(child, `${built.contestant} ${built.kind}`);
    await started.#next();
    return started;
  }

  async ask<Answer>(ask: Ask): Promise<Answer> {
    this.#child.send(ask);
    return (await this.#next()) as Answer;
  }

  async #next(): Promise<unknown> {
    const [message] = await Promise.race([once(this.#child, "message"), this.#ended]);
    return message;
  }

  stop(): void {
    this.#child.disconnect();
  }
}
