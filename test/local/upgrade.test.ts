import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Client } from "../support/http-client.ts";
import { startOwnServer } from "../support/local-server.ts";
import { releaseOf } from "../support/releases.ts";
import { timeOf } from "../support/timely-server.ts";
import { expectFinished, leaveTasks } from "../support/upgrade.ts";

const token = "an-operator";

test("the next release finishes the tasks of this one, with its own input", { timeout: 900_000 }, async (context) => {
  const stateDir = mkdtempSync(join(tmpdir(), "offload-upgrade-"));
  context.onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  const settings = { OFFLOAD_STATE_DIR: stateDir, OFFLOAD_KEYS: `${token}:acme:operator`, OFFLOAD_TIME_SCALE: "1" };

  using first = releaseOf("first");
  const before = await startOwnServer(settings, first.folder);
  context.onTestFinished(() => before.stop());
  context.onTestFailed(() => console.error(`The first release said:\n${before.output()}`));
  const left = await leaveTasks({ url: before.url, token }, { tasks: 24, delaySeconds: 10, limitMs: 300_000 });
  expect(new Set([...left.delayed, ...left.retried]).size).toBe(24);
  await before.stop();

  using second = releaseOf("second");
  const after = await startOwnServer(settings, second.folder);
  context.onTestFinished(() => after.stop());
  context.onTestFailed(() => console.error(`The second release said:\n${after.output()}`));
  // A task whose type is missing is given up after minutes, as another worker may have the type.
  await timeOf(new Client(after.url, { token, tenant: "acme", role: "operator" }), after.output).ended(left.removed);
  await expectFinished({ url: after.url, token }, left, 300_000);
});
