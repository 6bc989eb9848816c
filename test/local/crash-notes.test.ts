import { afterAll, beforeAll, expect, test } from "vitest";
import { type Attempt, Client, until } from "../support/http-client.ts";
import { type OwnServer, startOwnServer } from "../support/local-server.ts";
import { projectWith } from "../support/project.ts";

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

/** An end waits two seconds for its note, which a busy machine outlasts: then another task has one. */
async function notedAttempt(type: string, how: string): Promise<Attempt> {
  for (let tries = 1; ; tries++) {
    const attempt = await onlyAttempt(type, how);
    if (attempt.error_type !== "AttemptCrashed" || tries === 4) return attempt;
  }
}

async function onlyAttempt(type: string, how: string): Promise<Attempt> {
  const { task_id } = await client.submit(type, { how }, { max_attempts: 1 });
  await until("the end of the task", async () => ((await client.task(task_id)).status === "failed" ? true : undefined));
  const [attempt] = await client.attempts(task_id);
  if (attempt === undefined) throw new Error("no attempt");
  return attempt;
}

test.for([
  ["a function's worker", "deadly"],
  ["a container worker", "deadly.contained"],
] as const)(
  "in %s an endless loop, an exit and a full memory each have a text of their own, with the place",
  { timeout: 900_000 },
  async ([, type]) => {
    const place = `tasks/${type.replaceAll(".", "\\.")}\\.ts`;
    const left = await notedAttempt(type, "leave");
    expect(left).toMatchObject({ outcome: "crashed", error_type: "ProcessExited" });
    expect(left.error).toMatch(new RegExp(`^attempt 1 called process\\.exit\\(3\\), at ${place}:6:\\d+$`));
    expect(left.stack).toMatch(new RegExp(`at leave \\(${place}:6`));
    const looped = await notedAttempt(type, "spin");
    expect(looped).toMatchObject({ outcome: "crashed", error_type: "EventLoopBlocked" });
    expect(looped.error).toMatch(
      new RegExp(`^attempt 1 blocked the event loop until its process was ended, at ${place}:10:\\d+$`),
    );
    // The heap of a local container worker is as large as Node makes it.
    if (type !== "deadly") return;
    const filled = await notedAttempt(type, "hoard");
    expect(filled).toMatchObject({ outcome: "crashed", error_type: "OutOfMemory" });
    expect(filled.error).toMatch(
      /^attempt 1 ran out of memory: its process used \d+ MB, and objects in it may use \d+ MB/,
    );
  },
);
