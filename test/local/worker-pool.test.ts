import { expect, test } from "vitest";
import { Client, until } from "../support/http-client.ts";
import { startOwnServer } from "../support/local-server.ts";
import { projectWith } from "../support/project.ts";

/** A task type whose exception escapes its handler. */
const escapes = `import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { defineTask } from "offload";

export default defineTask({
  name: "escapes",
  description: "Throws where no caller can catch it.",
  input: z.null(),
  maxAttempts: 1,
  handler: async () => {
    setTimeout(() => {
      throw new TypeError(["too", "late"].join(" "));
    });
    await sleep(10_000);
    return { result: null };
  },
});
`;

test("an exception that escapes a handler fails its own attempt, and its process is replaced without a death", async (context) => {
  using project = projectWith({ escapes });
  const server = await startOwnServer({ OFFLOAD_KEYS: "key:acme:operator" }, project.folder);
  context.onTestFinished(() => server.stop());
  const client = new Client(server.url, { token: "key", tenant: "acme", role: "operator" });
  for (let attempt = 0; attempt < 2; attempt++) {
    const { task_id } = await client.submit("escapes", null);
    const failed = await until("the end of the task", async () => {
      const task = await client.task(task_id);
      return task.status === "failed" ? task : undefined;
    });
    expect(failed).toMatchObject({ error: "too late", error_type: "TypeError", attempts: 1 });
  }
  expect(server.output()).not.toContain("A worker process died");
});
