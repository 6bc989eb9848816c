import { execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { startLocalServer, type TestServer } from "../../src/test-server.ts";

const patient = { timeout: 300_000, interval: 500 };
const tooLong = 400_000;

interface Listed {
  task_id: string;
  status: string;
  attempts: number;
  result: { began: string; ended: string } | null;
}

const start = async (stateFolder?: string, env: Record<string, string> = {}): Promise<TestServer> => {
  const folder = stateFolder ?? mkdtempSync(join(tmpdir(), "offload-flow-"));
  const server = await startLocalServer({ stateFolder: folder, env });
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

const ended = async (server: TestServer, ids: readonly string[]) =>
  (await readAll(server, ids)).filter(({ status }) => status === "completed").length;

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
  "60 tasks of one key: never more than three at a time",
  async () => {
    const server = await start();
    const ids = await submitAll(
      server,
      Array.from({ length: 60 }, () => ({ type: "probe.keyed", input: { key: "a", ms: 300 } })),
    );
    await expect.poll(() => ended(server, ids), patient).toBe(60);
    const tasks = await readAll(server, ids);
    expect(mostAtOnce(tasks)).toBeLessThanOrEqual(3);
    const began = tasks.map(({ result }) => Date.parse(result?.began ?? ""));
    const last = Math.max(...tasks.map(({ result }) => Date.parse(result?.ended ?? "")));
    console.log("places used:", ((60 * 300) / (3 * (last - Math.min(...began)))).toFixed(2));
  },
  tooLong,
);

test(
  "with workers killed at random, the same bound, and all end",
  async () => {
    const server = await start(undefined, { OFFLOAD_MOVABLE_CLOCK: "1" });
    const ids = await submitAll(
      server,
      Array.from({ length: 40 }, () => ({ type: "probe.keyed", input: { key: "a", ms: 700 }, max_attempts: 20 })),
    );
    for (let kills = 0; kills < 6; kills++) {
      await sleep(700);
      const workers = execFileSync("pgrep", ["-P", String(server.pid)], { encoding: "utf8", timeout: 300_000 })
        .trim()
        .split("\n");
      const victim = workers[kills % workers.length];
      if (victim !== undefined) process.kill(Number(victim), "SIGKILL");
    }
    // The leases of the killed workers end by the server's time: five seconds a look, less than the renewal of what runs.
    const endedLater = async () => {
      await send(server, "POST", "/_local/clock", { seconds: 5 });
      return ended(server, ids);
    };
    await expect.poll(endedLater, patient).toBe(40);
    expect(mostAtOnce(await readAll(server, ids))).toBeLessThanOrEqual(3);
  },
  tooLong,
);

test(
  "starts at five per second, then slower by a change at run time",
  async () => {
    const server = await start();
    const submit = (count: number, key: string) =>
      submitAll(
        server,
        Array.from({ length: count }, () => ({ type: "probe.rated", input: { key } })),
      );
    /** The time between the first start and the last, in milliseconds. A worker that is late brings starts closer together, never farther than a rate. */
    const between = async (ids: readonly string[]) => {
      await expect.poll(() => ended(server, ids), patient).toBe(ids.length);
      const times = (await readAll(server, ids)).map(({ result }) => Date.parse(result?.began ?? ""));
      return Math.max(...times) - Math.min(...times);
    };
    await submitAll(server, [{ type: "probe.rated", input: { key: "warm" } }]);
    // `test/core/flow/rate.test.ts` has the exact times.
    expect(await between(await submit(25, "a"))).toBeGreaterThanOrEqual(3_000);
    await send(server, "PATCH", "/types/probe.rated/limits", { rate: { limit: 1, per_seconds: 2 } }, "dev-admin");
    // At five per second, they would start within two.
    expect(await between(await submit(10, "b"))).toBeGreaterThanOrEqual(9_000);
  },
  tooLong,
);

test(
  "a paused type takes 50 tasks, of which none starts, also after a power cut; each runs once after the resume",
  async () => {
    const stateFolder = mkdtempSync(join(tmpdir(), "offload-flow-"));
    const server = await start(stateFolder);
    await send(server, "POST", "/types/probe.echo/pause", {});
    const ids = await submitAll(
      server,
      Array.from({ length: 50 }, (_, value) => ({ type: "probe.echo", input: { value } })),
    );
    await sleep(3_000);
    const attempts = async (of: TestServer) => (await readAll(of, ids)).filter((task) => task.attempts > 0).length;
    expect(await attempts(server)).toBe(0);
    await server.kill();
    const again = await start(stateFolder);
    await sleep(5_000);
    expect(await attempts(again)).toBe(0);
    await send(again, "POST", "/types/probe.echo/resume", {});
    await expect.poll(() => ended(again, ids), patient).toBe(50);
    expect((await readAll(again, ids)).map((task) => task.attempts)).toEqual(ids.map(() => 1));
  },
  tooLong,
);
