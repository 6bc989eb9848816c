import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Client } from "../support/http-client.ts";
import { type OwnServer, startOwnServer } from "../support/local-server.ts";
import { timeOf } from "../support/timely-server.ts";

/** Five steps that write into a file. The worker dies inside of one step, and later right after it. */
const dyingSteps = `
import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import { defineTask } from "offload";
import * as z from "zod";

export default defineTask({
  name: "steps.dying",
  input: z.object({ folder: z.string(), at: z.int() }),
  timeoutSeconds: 600,
  maxAttempts: 20,
  handler: async ({ folder, at }, task) => {
    const dieOnce = (place: string, number: number) => {
      const died = folder + "/" + task.taskId + "." + place;
      if (number !== at || existsSync(died)) return;
      writeFileSync(died, "");
      process.kill(process.pid, "SIGKILL");
    };
    let sum = 0;
    for (let number = 1; number <= 5; number++) {
      sum += await task.step("add " + number, () => {
        appendFileSync(folder + "/" + task.taskId, String(number));
        dieOnce("inside", number);
        return number;
      });
      dieOnce("after", number);
    }
    return { sum };
  },
});
`;

/** A cursor over pages on attempts of two seconds, which is killed now and then. */
const cursor = `
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { defineTask } from "offload";
import * as z from "zod";

export default defineTask({
  name: "pages.walk",
  input: z.object({ folder: z.string(), pages: z.int() }),
  state: z.object({ page: z.int() }),
  timeoutSeconds: 2,
  handler: async ({ folder, pages }, task): Promise<{ attempt: number } | undefined> => {
    for (let { page } = task.state ?? { page: 0 }; page < pages; ) {
      await sleep(150);
      appendFileSync(folder + "/" + task.taskId, page + "\\n");
      page += 1;
      await task.checkpoint({ page });
      if (task.remainingMs() < 700) await task.continueLater();
    }
    return { attempt: task.attempt };
  },
});
`;

describe("steps on a machine", { timeout: 400_000 }, () => {
  let folder: string;
  let server: OwnServer;
  let client: Client;
  const written = (id: string) => readFileSync(join(folder, id), "utf8");

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "offload-steps-"));
    mkdirSync(join(folder, "tasks"));
    symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    writeFileSync(join(folder, "tasks/steps.dying.ts"), dyingSteps);
    writeFileSync(join(folder, "tasks/pages.walk.ts"), cursor);
    server = await startOwnServer({}, folder, ["start"]);
    client = new Client(server.url, { token: "dev-acme", tenant: "acme", role: "operator" });
  }, 300_000);
  afterAll(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test("workers that are killed between and inside steps: each effect once, or twice where the step itself died", async () => {
    // Tasks of one tier share a worker, and die with each other.
    const tiers = ["critical", "high", "normal", "low"];
    const tasks = await Promise.all(
      [1, 3, 4].map(async (at) => {
        const { task_id } = await client.submit("steps.dying", { folder, at }, { priority: tiers[at % 4] });
        return { task_id, at };
      }),
    );
    for (const { task_id, at } of tasks) {
      const task = await timeOf(client, server.output).ended(task_id);
      expect(task).toMatchObject({ status: "completed", result: { sum: 15 } });
      expect(task.attempts).toBeGreaterThanOrEqual(3);
      const effects = written(task_id);
      expect({ at, effects: effects.replaceAll(/(.)\1+/g, "$1") }).toEqual({ at, effects: "12345" });
      expect(effects).toContain(`${at}${at}`);
      expect(effects.length).toBeLessThan(5 + task.attempts);
    }
  });

  test("a cursor of many times its time-out ends as one attempt, each page once", async () => {
    const { task_id } = await client.submit("pages.walk", { folder, pages: 25 });
    const task = await client.ended(task_id, { timeoutMs: 300_000 });
    expect(task).toMatchObject({ status: "completed", attempts: 1, result: { attempt: 1 } });
    expect(written(task_id)).toBe(Array.from({ length: 25 }, (_, page) => `${page}\n`).join(""));
  });
});
