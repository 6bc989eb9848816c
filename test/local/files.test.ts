import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { VictimServer } from "../chaos/server.ts";
import { Client } from "../support/http-client.ts";

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
  for (let kills = 0; kills < 6; kills++) {
    await sleep(300);
    const [pid] = server.workers();
    if (pid !== undefined) process.kill(pid, "SIGKILL");
  }
  for (const { task_id } of tasks) {
    expect(await client.ended(task_id, { timeoutMs: 300_000 })).toMatchObject({ status: "completed" });
    const authorization = { authorization: "Bearer dev-acme" };
    const result = await fetch(`${server.url}/tasks/${task_id}/result`, { headers: authorization });
    let size = 0;
    for await (const part of result.body ?? []) size += part.byteLength;
    expect(size).toBe(bytes);
  }
});
