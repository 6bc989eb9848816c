import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inLanes } from "../../src/util/in-lanes.ts";
import { Client, expectStatus, type Task } from "../support/http-client.ts";
import { type OwnServer, startOwnServer } from "../support/local-server.ts";
import { timeOf } from "../support/timely-server.ts";

/** Tasks of the test; 1,000 in the long form. One in ten kills its worker, with all that it works on, and some fail for good. */
const count = Number(process.env.OFFLOAD_KILL_TASKS ?? 40);

/** Handlers write what they do into one file, a line each: it has the order of what happened. */
const parent = `
import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import { defineTask, PermanentError } from "offload";
import * as z from "zod";
import child from ${JSON.stringify("./kills.child.ts")};

const note = (folder, ...words) => appendFileSync(folder + "/notes", words.join(" ") + "\\n");

export default defineTask({
  name: "kills.all",
  input: z.object({ folder: z.string(), n: z.int() }),
  timeoutSeconds: 600,
  maxAttempts: 20,
  onFailed: ({ folder }, { taskId }, task) => note(folder, "failed", taskId, task.taskId),
  handler: async ({ folder, n }, task) => {
    const dieOnce = (place) => {
      const died = folder + "/" + n + "." + place;
      if (n % 40 !== place || existsSync(died)) return;
      writeFileSync(died, "");
      process.kill(process.pid, "SIGKILL");
    };
    const step = async (name) => {
      await task.step(name, { maxAttempts: 5, retry: { baseSeconds: 1 } }, (_, { attempt }) => {
        note(folder, "try", task.taskId, name);
        if (n % 5 === 0 && attempt === 1) throw new Error("the first attempt fails");
      });
      note(folder, "done", task.taskId, name);
    };
    await step("one");
    dieOnce(1);
    const ends = await Promise.all(
      ["a", "b"].map((key) =>
        task
          .run(child, { folder, of: task.taskId + key, fails: key === "b" && n % 4 === 0 }, { key })
          .then(() => "completed", ({ status }) => status),
      ),
    );
    dieOnce(2);
    const bodies = [];
    for (let read = 0; read < 2; read++) {
      bodies.push(await task.nextSignal("msg", { timeoutSeconds: 86_400 }));
      dieOnce(3 + read);
    }
    await step("two");
    if (n % 3 === 0) throw new PermanentError("fails for good");
    return { ends, bodies };
  },
});
`;

function mustComplete(n: number, task: Task): void {
  const ends = ["completed", n % 4 === 0 ? "failed" : "completed"];
  expect(task, `${n}`).toMatchObject({ status: "completed", result: { ends, bodies: [1, 2] } });
}

/** Returns the id of the task of `onFailed`, which has completed. */
async function mustFail(task: Task, time: ReturnType<typeof timeOf>): Promise<string> {
  expect(task).toMatchObject({ status: "failed", error: "fails for good" });
  const { on_failed } = task as Task & { on_failed?: { task_id: string } };
  const id = on_failed?.task_id ?? "none";
  expect(await time.ended(id)).toMatchObject({ status: "completed" });
  return id;
}

/** Reads what has happened, in its order. */
function read(notes: string) {
  const done = new Set<string>();
  const [children, handled] = [new Map<string, string>(), new Map<string, string>()];
  const one = (by: Map<string, string>, of: string, id: string, what: string) => {
    expect(by.get(of) ?? id, what).toBe(id);
    by.set(of, id);
  };
  for (const note of notes.trim().split("\n")) {
    const [what, of = "", by = ""] = note.split(" ");
    if (what === "try") expect(done.has(`${of} ${by}`), "a step that succeeded runs again").toBe(false);
    if (what === "done") done.add(`${of} ${by}`);
    if (what === "child") one(children, of, by, "one child for each run");
    if (what === "failed") one(handled, of, by, "one onFailed for each round");
  }
  return { children, handled };
}

/** Writes its id, and the call that it is of. */
const child = `
import { appendFileSync } from "node:fs";
import { defineTask, PermanentError } from "offload";
import * as z from "zod";

export default defineTask({
  name: "kills.child",
  input: z.object({ folder: z.string(), of: z.string(), fails: z.boolean() }),
  timeoutSeconds: 600,
  maxAttempts: 20,
  handler: ({ folder, of, fails }, task) => {
    appendFileSync(folder + "/notes", ["child", of, task.taskId].join(" ") + "\\n");
    if (fails) throw new PermanentError("the child fails");
    return { of };
  },
});
`;

describe("handlers that use everything, on a machine", { timeout: 600_000 + count * 1000 }, () => {
  let folder: string;
  let server: OwnServer;
  let client: Client;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "offload-kills-"));
    mkdirSync(join(folder, "tasks"));
    symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    writeFileSync(join(folder, "tasks/kills.all.ts"), parent);
    writeFileSync(join(folder, "tasks/kills.child.ts"), child);
    server = await startOwnServer({}, folder, ["start"]);
    client = new Client(server.url, { token: "dev-acme", tenant: "acme", role: "operator" });
  }, 300_000);
  afterAll(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const send = async (n: number): Promise<string> => {
    const { task_id } = await client.submit("kills.all", { folder, n });
    for (const body of [1, 2, 2]) {
      const headers = { "Idempotency-Key": `signal-${body}` };
      expectStatus(await client.post(`/tasks/${task_id}/signals/msg`, body, headers), 202);
    }
    return task_id;
  };

  test("workers that are killed: each step, child, signal and onFailed counts once", async () => {
    const numbers = Array.from({ length: count }, (_, n) => n);
    const ids = await inLanes(numbers.values(), 10, send);
    const time = timeOf(client, server.output);
    const tasks: Task[] = [];
    for (const id of ids) tasks.push(await time.ended(id));
    const onFailed = new Map<string, string>();
    for (const [n, task] of tasks.entries()) {
      if (n % 3 !== 0) mustComplete(n, task);
      else onFailed.set(task.task_id, await mustFail(task, time));
    }
    const { children, handled } = read(readFileSync(join(folder, "notes"), "utf8"));
    expect(children.size).toBe(2 * count);
    expect(handled).toEqual(onFailed);
    const killed = tasks.filter(({ attempts }) => attempts > 1).length;
    expect(killed).toBeGreaterThanOrEqual(count / 10);
  });
});
