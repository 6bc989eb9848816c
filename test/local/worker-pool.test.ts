import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Client, until } from "../support/http-client.ts";
import { startOwnServer } from "../support/local-server.ts";
import { releaseOf } from "../support/releases.ts";

/** Folder of the core, as seen from the folder of task types. */
const core = "../src/core";

/** A task type whose exception escapes its handler. */
const escapes = `import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { defineTask } from "${core}/task.ts";

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

test("an exception that escapes a handler is printed once, and the log says what follows from it", async (context) => {
  using release = releaseOf("first");
  writeFileSync(join(release.folder, "tasks/escapes.ts"), escapes);
  const server = await startOwnServer({ OFFLOAD_KEYS: "key:acme:operator" }, release.folder);
  context.onTestFinished(() => server.stop());
  const client = new Client(server.url, { token: "key", tenant: "acme", role: "operator" });
  await client.submit("escapes", null);
  const output = await until("the line of the process", async () => {
    const text = server.output();
    return text.includes("counts as crashed") ? text : undefined;
  });
  expect(output.match(/TypeError: too late/g)).toHaveLength(1);
  expect(output).toMatch(
    / A worker process died \(exit code 1\); its error output is above\. Running: [a-z.]+ [0-9a-f-]{36}\. As in AWS, /,
  );
});
