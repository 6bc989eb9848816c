import { afterAll, beforeAll, expect, test } from "vitest";
import { type Attempt, Client, until } from "../support/http-client.ts";
import { type OwnServer, startOwnServer } from "../support/local-server.ts";
import { projectWith } from "../support/project.ts";
import { timeOf } from "../support/timely-server.ts";

/** A type whose handler ends its process in one of three ways, each in a function of its own. */
const deadly = (name: string, where: string) => `import * as z from "zod";
import { setTimeout as sleep } from "node:timers/promises";
import { defineTask } from "offload";

function leave() {
  process.exit(3);
}

function spin() {
  for (;;);
}

function hoard() {
  const kept: unknown[] = [];
  const pause = new Int32Array(new SharedArrayBuffer(4));
  // The watchdog's thread sees the heap grow, also on a busy machine.
  for (;;) {
    kept.push(new Array(1_000_000).fill(kept.length));
    Atomics.wait(pause, 0, 0, 25);
  }
}

export default defineTask({
  name: "${name}",
  description: "Ends its process.",
  input: z.object({ how: z.enum(["leave", "spin", "hoard"]) }),
  timeoutSeconds: 8,${where}
  handler: async ({ how }) => {
    // The watchdog's thread starts with the attempt.
    await sleep(1_500);
    ({ leave, spin, hoard })[how]();
    return null;
  },
});
`;

let project: ReturnType<typeof projectWith>;
let server: OwnServer;
let client: Client;

beforeAll(async () => {
  project = projectWith({
    deadly: deadly("deadly", ""),
    "deadly.contained": deadly("deadly.contained", ' runsOn: "container",'),
  });
  server = await startOwnServer({}, project.folder);
  client = new Client(server.url, { token: "dev-acme", tenant: "acme", role: "operator" });
});
afterAll(async () => {
  await server?.stop();
  project[Symbol.dispose]();
});

const diedLines = /worker process died|process of the worker died/g;
const deaths = () => server.output().match(diedLines)?.length ?? 0;

/** Submits a task, and resolves with its id when its process has died. Its lease goes on. */
async function submitDeadly(type: string, how: string): Promise<string> {
  const before = deaths();
  const { task_id } = await client.submit(type, { how }, { max_attempts: 1 });
  await until("the death of the process", async () => deaths() > before || undefined);
  return task_id;
}

type EndOf = (taskId: string) => Promise<unknown>;

async function onlyAttempt(taskId: string, endOf: EndOf): Promise<Attempt> {
  await endOf(taskId);
  const [attempt] = await client.attempts(taskId);
  if (attempt === undefined) throw new Error("no attempt");
  return attempt;
}

/**
 * An end waits two seconds for its note, and the note one for its place, which a busy machine outlasts: then another
 * task has one.
 */
async function notedAttempt(type: string, how: string, first: string, endOf: EndOf): Promise<Attempt> {
  for (let tries = 1, taskId = first; ; tries++) {
    const attempt = await onlyAttempt(taskId, endOf);
    const isWhole = attempt.error_type !== "AttemptCrashed" && (how !== "spin" || attempt.stack !== undefined);
    if (isWhole || tries === 4) return attempt;
    taskId = await submitDeadly(type, how);
  }
}

test.for([
  ["a container worker", "deadly.contained"],
  ["a function's worker", "deadly"],
] as const)(
  "in %s an endless loop, an exit and a full memory each have a text of their own, with the place",
  { timeout: 900_000 },
  async ([, type]) => {
    const inFunction = type === "deadly";
    const endOf: EndOf = timeOf(client, server.output).ended;
    const place = `tasks/${type.replaceAll(".", "\\.")}\\.ts`;
    // The heap of a local container worker is as large as Node makes it.
    const ways = ["leave", "spin", ...(inFunction ? ["hoard"] : [])];
    const tasks: Record<string, string> = {};
    for (const how of ways) tasks[how] = await submitDeadly(type, how);
    const noted = (how: string) => notedAttempt(type, how, tasks[how] ?? "", endOf);
    const left = await noted("leave");
    expect(left).toMatchObject({ outcome: "crashed", error_type: "ProcessExited" });
    expect(left.error).toMatch(new RegExp(`^attempt 1 called process\\.exit\\(3\\), at ${place}:6:\\d+$`));
    expect(left.stack).toMatch(new RegExp(`at leave \\(${place}:6`));
    const looped = await noted("spin");
    expect(looped).toMatchObject({ outcome: "crashed", error_type: "EventLoopBlocked" });
    expect(looped.error).toMatch(
      new RegExp(`^attempt 1 blocked the event loop until its process was ended, at ${place}:10:\\d+$`),
    );
    if (!inFunction) return;
    const filled = await noted("hoard");
    expect(filled).toMatchObject({ outcome: "crashed", error_type: "OutOfMemory" });
    expect(filled.error).toMatch(
      /^attempt 1 ran out of memory: its process used \d+ MB, and objects in it may use \d+ MB/,
    );
  },
);
