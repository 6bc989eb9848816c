import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { startLocalServer, type TestServer } from "../../src/installed/test-server.ts";
import { childrenOf } from "../support/container-worker.ts";

const patient = { timeout: 300_000, interval: 500 };
const tooLong = 400_000;

interface Listed {
  task_id: string;
  status: string;
  attempts: number;
  result: { began: string; ended: string } | null;
}

const start = async (stateFolder?: string): Promise<TestServer> => {
  const folder = stateFolder ?? mkdtempSync(join(tmpdir(), "offload-flow-"));
  const server = await startLocalServer({ stateFolder: folder });
  onTestFinished(() => server.kill());
  return server;
};

async function send(server: TestServer, method: string, path: string, body?: unknown, key = "dev-acme") {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as Record<string, unknown>;
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
  return answer;
}

/** Submits one task after the other. Returns their ids. */
async function submitAll(server: TestServer, bodies: readonly unknown[]): Promise<string[]> {
  const ids: string[] = [];
  for (const body of bodies) ids.push(String((await send(server, "POST", "/tasks", body)).task_id));
  return ids;
}

const readAll = (server: TestServer, ids: readonly string[]): Promise<Listed[]> =>
  Promise.all(ids.map(async (id) => (await send(server, "GET", `/tasks/${id}`)) as unknown as Listed));

const ended = async (server: TestServer, type: string): Promise<number> => {
  const { tasks } = await send(server, "GET", `/tasks?type=${type}&status=completed&limit=100`);
  return (tasks as Listed[]).length;
};

/** The most runs at the same time, by the times that they returned. */
function mostAtOnce(tasks: readonly Listed[]): number {
  const events = tasks.flatMap(({ result }) => [
    { at: Date.parse(result?.began ?? ""), by: 1 },
    { at: Date.parse(result?.ended ?? ""), by: -1 },
  ]);
  events.sort((a, b) => a.at - b.at || a.by - b.by);
  let now = 0;
  let most = 0;
  for (const { by } of events) {
    now += by;
    most = Math.max(most, now);
  }
  return most;
}

test(
  "with workers killed at random, never more than three tasks of one key run at a time, and all end",
  async () => {
    const server = await start();
    const ids = await submitAll(
      server,
      Array.from({ length: 20 }, () => ({ type: "probe.keyed", input: { key: "a", ms: 700 }, max_attempts: 20 })),
    );
    for (let kills = 0; kills < 4; kills++) {
      await sleep(700);
      const workers = childrenOf(server.pid);
      const victim = workers[kills % workers.length];
      if (victim !== undefined) process.kill(victim, "SIGKILL");
    }
    // The leases of the killed workers end by the server's time: five seconds a look, less than the renewal of what runs.
    const endedLater = async () => {
      await send(server, "POST", "/_local/clock", { advance_seconds: 5 });
      return ended(server, "probe.keyed");
    };
    await expect.poll(endedLater, patient).toBe(20);
    expect(mostAtOnce(await readAll(server, ids))).toBeLessThanOrEqual(3);
  },
  tooLong,
);

test(
  "a paused type takes 15 tasks, of which none starts, also after a power cut; each runs once after the resume",
  async () => {
    const stateFolder = mkdtempSync(join(tmpdir(), "offload-flow-"));
    const server = await start(stateFolder);
    await send(server, "POST", "/types/probe.echo/pause", {});
    const ids = await submitAll(
      server,
      Array.from({ length: 15 }, (_, value) => ({ type: "probe.echo", input: { value } })),
    );
    const attempts = async (of: TestServer) => (await readAll(of, ids)).filter((task) => task.attempts > 0).length;
    expect(await attempts(server)).toBe(0);
    await server.kill();
    const again = await start(stateFolder);
    // A task that is not paused, and came after them, has its turn.
    await submitAll(again, [{ type: "probe.sleep", input: { ms: 1 } }]);
    await expect.poll(() => ended(again, "probe.sleep"), patient).toBe(1);
    expect(await attempts(again)).toBe(0);
    await send(again, "POST", "/types/probe.echo/resume", {});
    await expect.poll(() => ended(again, "probe.echo"), patient).toBe(15);
    expect((await readAll(again, ids)).map((task) => task.attempts)).toEqual(ids.map(() => 1));
  },
  tooLong,
);
