import { execFileSync } from "node:child_process";
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { type OwnServer, startOwnServer } from "../support/local-server.ts";

/** A small disk, or the reason why this machine does not allow one. */
function smallDisk(megabytes: number): { path: string; remove(): void } | { reason: string } {
  const path = mkdtempSync(join(tmpdir(), "offload-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", path], {
      stdio: "pipe",
      timeout: 300_000,
    });
    return { path, remove: () => execFileSync("umount", ["-l", path], { timeout: 300_000 }) };
  } catch (error) {
    return { reason: `this machine does not allow to mount a small disk: ${String(error)}` };
  }
}

/** Fills the disk to its last byte. Returns a function that makes room again. */
function fill(path: string): () => void {
  const file = join(path, "ballast");
  for (const size of [1024 * 1024, 4096, 1]) {
    try {
      for (;;) appendFileSync(file, Buffer.alloc(size));
    } catch {
      // Full for pieces of this size.
    }
  }
  return () => rmSync(file);
}

const headers = { authorization: "Bearer dev-acme", "content-type": "application/json" };

async function submit({ url }: OwnServer, value: string, delay_seconds = 0) {
  const body = JSON.stringify({ type: "probe.echo", input: { value }, delay_seconds });
  const response = await fetch(`${url}/tasks`, { method: "POST", headers, body });
  return { status: response.status, body: (await response.json()) as Record<string, string> };
}

async function statusOf({ url }: OwnServer, taskId: string) {
  const response = await fetch(`${url}/tasks/${taskId}`, { headers });
  return ((await response.json()) as { status: string }).status;
}

test("a full disk refuses writes with 503 and one line, and the server goes on when there is room", {
  timeout: 300_000,
}, async ({ skip, onTestFinished, onTestFailed }) => {
  const disk = smallDisk(40);
  if ("reason" in disk) return skip(disk.reason);
  onTestFinished(disk.remove);
  const settings = { OFFLOAD_STATE_DIR: join(disk.path, "state") };
  const server = await startOwnServer(settings);
  onTestFinished(() => server.stop());
  onTestFailed(() => console.error(server.output()));
  const waiting: string[] = [];
  const acceptDelayed = async () => {
    const answer = await submit(server, "x".repeat(20_000), 600);
    if (answer.status === 202) waiting.push(String(answer.body.task_id));
    return answer;
  };
  const linesSoFar = () => (server.output().match(/Could not write .*(no space|full)/gi) ?? []).length;
  await acceptDelayed();

  for (let outage = 1; outage <= 2; outage += 1) {
    const before = linesSoFar();
    const makeRoom = fill(disk.path);
    const refused: Awaited<ReturnType<typeof submit>>[] = [];
    // A line comes five seconds after that of the outage before, and after each minute.
    while (refused.length < 10 || linesSoFar() === before) {
      const answer = await acceptDelayed();
      if (answer.status !== 202) refused.push(answer);
      await sleep(50);
    }
    for (const { status, body } of refused) expect([status, body.code]).toEqual([503, "unavailable"]);
    expect((await fetch(`${server.url}/tasks`, { headers })).status).toBe(200);
    expect(linesSoFar() - before).toBeLessThan(refused.length);

    makeRoom();
    await vi.waitFor(async () => expect((await acceptDelayed()).status).toBe(202), { timeout: 300_000, interval: 250 });
    await vi.waitFor(() => expect(server.output().match(/can be written again/g)).toHaveLength(outage), {
      timeout: 300_000,
      interval: 250,
    });
  }
  const { body } = await submit(server, "after");
  const id = String(body.task_id);
  await vi.waitFor(async () => expect(await statusOf(server, id)).toBe("completed"), {
    timeout: 300_000,
    interval: 250,
  });

  await server.kill();
  const next = await startOwnServer(settings);
  onTestFinished(() => next.stop());
  expect(await statusOf(next, id)).toBe("completed");
  for (const taskId of waiting) expect(await statusOf(next, taskId)).toBe("scheduled");
});

test("a start on a full disk ends with one line that names the file", async ({ skip, onTestFinished }) => {
  const disk = smallDisk(8);
  if ("reason" in disk) return skip(disk.reason);
  onTestFinished(disk.remove);
  fill(disk.path);
  const start = startOwnServer({ OFFLOAD_STATE_DIR: join(disk.path, "state") });
  await expect(start).rejects.toThrow(/code 1.*\noffload: Could not .*table.*\n?$/);
});
