import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { VictimServer } from "../chaos/server.ts";
import { Client, until } from "../support/http-client.ts";
import { timeOf } from "../support/timely-server.ts";

const bytes = 20_000_000;

test("workers that are killed while they stream results leave whole results only", async (context) => {
  const stateDir = mkdtempSync(join(tmpdir(), "offload-files-"));
  const server = await VictimServer.prepare(stateDir);
  await server.start();
  context.onTestFinished(async () => {
    await server.stop();
    rmSync(stateDir, { recursive: true, force: true });
  });
  const client = new Client(server.url, { token: "dev-acme", tenant: "acme", role: "operator" });
  const submit = () => client.submit("probe.bytes", { bytes, as: "file" }, { max_attempts: 20 });
  const tasks = await Promise.all(Array.from({ length: 4 }, submit));
  const time = timeOf(client, () => server.output);
  for (let attempt = 1; attempt <= 2; attempt++) {
    // No time passes while an attempt runs, so this one is met in its middle.
    const begun = async () => {
      const { attempts, status } = await client.task(tasks[0]?.task_id ?? "");
      return attempts === attempt || status === "completed" || undefined;
    };
    if (attempt === 1) await until("the first attempt", begun);
    else await time.passUntil("the next attempt", begun);
    for (const pid of server.workers()) process.kill(pid, "SIGKILL");
  }
  const outcomes: string[] = [];
  for (const { task_id } of tasks) {
    expect(await time.ended(task_id)).toMatchObject({ status: "completed" });
    outcomes.push(...(await client.attempts(task_id)).map(({ outcome }) => outcome));
    const authorization = { authorization: "Bearer dev-acme" };
    const result = await fetch(`${server.url}/tasks/${task_id}/result`, { headers: authorization });
    let size = 0;
    for await (const part of result.body ?? []) size += part.byteLength;
    expect(size).toBe(bytes);
  }
  expect(outcomes).toContain("crashed");
});
