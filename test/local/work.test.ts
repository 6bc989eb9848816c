import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { bundle } from "../../lib/esbuild.ts";
import type { TaskView } from "../../src/core/model/task-view.ts";
import { type ContainerWorker, childrenOf, isAlive, startContainerWorker } from "../support/container-worker.ts";
import { type OwnServer, startOwnServer } from "../support/local-server.ts";

/** The local server starts no container worker, so that these tests run their own. */
let server: OwnServer;
beforeAll(async () => {
  server = await startOwnServer({ OFFLOAD_CONTAINER_CONCURRENCY: "0" });
});
afterAll(() => server.stop());

/** Polls are slow: each view costs the server's processor, which the workers need. */
const patience = { timeout: 300_000, interval: 250 };

const headers = { authorization: "Bearer dev-acme", "content-type": "application/json" };

const api = async <T>(path: string, body?: object): Promise<T> => {
  const options = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  // Making a bundle keeps this process busy for longer than the server keeps a connection.
  const response = await fetch(server.url + path, { headers: { ...headers, connection: "close" }, ...options });
  return (await response.json()) as T;
};

const submit = async (priority: string, input: object, count = 1): Promise<string[]> => {
  const tasks = Array.from({ length: count }, () => ({ type: "probe.long", priority, input }));
  const accepted = await api<{ tasks: { task_id: string }[] }>("/tasks/batch", { tasks });
  return accepted.tasks.map(({ task_id }) => task_id);
};

const viewOf = (id: string) => api<TaskView>(`/tasks/${id}`);
const viewsOf = (ids: readonly string[]) => Promise.all(ids.map(viewOf));

/** Waits until so many of the tasks have the status. */
const untilStatus = (ids: readonly string[], status: string, count = ids.length) =>
  vi.waitFor(
    async () =>
      expect((await viewsOf(ids)).filter((view) => view.status === status).length).toBeGreaterThanOrEqual(count),
    patience,
  );

/** Waits until each task has started. On a slow machine, some may have ended already. */
const untilStarted = (ids: readonly string[]) =>
  vi.waitFor(
    async () => expect((await viewsOf(ids)).filter(({ started_at }) => started_at === null)).toEqual([]),
    patience,
  );

/** Workers of one test: the next one is to have its tasks for itself. */
const workers = new Set<ContainerWorker>();
afterEach(async () => {
  for (const { child, ended } of workers) {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
    await ended;
  }
  workers.clear();
});

function work(...args: string[]): ContainerWorker {
  const worker = startContainerWorker(server.url, args);
  workers.add(worker);
  return worker;
}

test("of 30 low tasks, at most one starts before the last of 10 critical tasks that come later", async () => {
  const low = await submit("low", { ms: 150 }, 30);
  const worker = work("--concurrency", "1");
  await untilStatus(low, "completed", 3);
  const critical = await submit("critical", { ms: 150 }, 10);
  const submittedAt = new Date().toISOString();
  await untilStatus(critical, "completed");
  const startsOf = async (ids: string[]) => (await viewsOf(ids)).map((view) => view.started_at ?? "");
  const lastCritical = (await startsOf(critical)).sort().at(-1) ?? "";
  const between = (await startsOf(low)).filter((at) => at > submittedAt && at < lastCritical);
  expect(between.length).toBeLessThanOrEqual(1);
  worker.child.kill("SIGTERM");
  expect(await worker.ended).toBe(0);
  await Promise.all(low.map((id) => api(`/tasks/${id}/cancel`, {})));
});

describe("signals", () => {
  test("the first signal: six running tasks finish, none is attempted twice, and the exit code is 0", async () => {
    const worker = work("--concurrency", "6");
    const ids = await submit("normal", { ms: 10_000 }, 6);
    await untilStarted(ids);
    worker.child.kill("SIGTERM");
    const later = await submit("normal", { ms: 10 });
    expect(await worker.ended).toBe(0);
    const views = await viewsOf(ids);
    expect(views.every(({ status, attempts }) => status === "completed" && attempts === 1)).toBe(true);
    expect(await viewsOf(later)).toMatchObject([{ status: "pending", attempts: 0 }]);
    const next = work();
    await untilStatus(later, "completed");
    next.child.kill("SIGINT");
    expect(await next.ended).toBe(0);
  });

  test("a task whose handler ignores the drain is given back without an attempt, and another worker starts it", async () => {
    const worker = work("--drain-seconds", "1");
    const [id = ""] = await submit("normal", { ms: 600_000, heed_abort: false });
    await untilStatus([id], "processing");
    worker.child.kill("SIGTERM");
    expect(await worker.ended).toBe(0);
    expect(await viewOf(id)).toMatchObject({ status: "pending", attempts: 0 });
    work();
    await untilStatus([id], "processing");
    expect(await viewOf(id)).toMatchObject({ attempts: 1 });
    await api(`/tasks/${id}/cancel`, {});
  });

  test("a second signal ends the worker and its processes at once", async () => {
    // Both are longer than this test may take.
    const worker = work("--drain-seconds", "600");
    const ids = await submit("normal", { ms: 600_000, heed_abort: false });
    await untilStatus(ids, "processing");
    const pids = childrenOf(worker.child.pid);
    expect(pids.length).toBeGreaterThan(0);
    worker.child.kill("SIGTERM");
    await vi.waitFor(() => expect(worker.output()).toContain("the worker stops"), patience);
    worker.child.kill("SIGTERM");
    expect(await worker.ended).toBe(143);
    await vi.waitFor(() => expect(pids.filter((pid) => isAlive(pid))).toEqual([]), patience);
    await api(`/tasks/${ids[0]}/cancel`, {});
  });
});

test("a process that dies is started again", async () => {
  const worker = work();
  const [id = ""] = await submit("high", { ms: 600_000 });
  await untilStatus([id], "processing");
  for (const pid of childrenOf(worker.child.pid)) process.kill(pid, "SIGKILL");
  const [other = ""] = await submit("high", { ms: 10 });
  // SQS may have given the message to a poll of the dead process: then it comes back after a minute.
  await untilStatus([other], "completed");
  expect(worker.output()).toContain("a process of the worker died");
  await api(`/tasks/${id}/cancel`, {});
  worker.child.kill("SIGTERM");
  expect(await worker.ended).toBe(0);
});

test("the health answer is 200 while the worker takes tasks, and 503 while it drains", async () => {
  const worker = work("--health-port", "0", "--drain-seconds", "600");
  await vi.waitFor(() => expect(worker.output()).toMatch(/health_port=\d+/), patience);
  const port = /health_port=(\d+)/.exec(worker.output())?.[1];
  const health = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/`);
    return { code: response.status, body: await response.json() };
  };
  await vi.waitFor(
    async () => expect(await health()).toEqual({ code: 200, body: { status: "ok", running: 0 } }),
    patience,
  );
  const [id = ""] = await submit("normal", { ms: 600_000, heed_abort: false });
  await untilStatus([id], "processing");
  const answers = (code: number, status: string) =>
    vi.waitFor(async () => expect(await health()).toEqual({ code, body: { status, running: 1 } }), patience);
  await answers(200, "ok");
  worker.child.kill("SIGTERM");
  await answers(503, "draining");
  await api(`/tasks/${id}/cancel`, {});
});

test("the bundle of a container runs tasks, and ends with 0 after SIGTERM", async () => {
  const folder = mkdtempSync(join(tmpdir(), "offload-container-"));
  bundle("work", folder);
  const local = await api<Record<string, string>>("/_local/work");
  const services = Object.entries(JSON.parse(local.OFFLOAD_LOCAL_SERVICES ?? "{}") as Record<string, string>);
  // The small clients of bundles find AWS by the SDK's variables.
  const endpoints = Object.fromEntries(services.map(([name, at]) => [`AWS_ENDPOINT_URL_${name.toUpperCase()}`, at]));
  const account = { AWS_REGION: "us-east-1", AWS_ACCESS_KEY_ID: "local", AWS_SECRET_ACCESS_KEY: "local" };
  const env = { PATH: process.env.PATH ?? "", ...local, ...endpoints, ...account, OFFLOAD_WORK_CONCURRENCY: "2" };
  const child = spawn(process.execPath, [join(folder, "index.mjs")], { env, stdio: "inherit" });
  const ended = once(child, "exit");
  const ids = await submit("normal", { ms: 100 }, 3);
  await untilStatus(ids, "completed");
  child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
  rmSync(folder, { recursive: true });
});

test("a worker without a server says what to do, and a wrong flag ends with 2", async () => {
  const nowhere = work("--url", "http://127.0.0.1:9");
  expect(await nowhere.ended).toBe(1);
  expect(nowhere.output()).toContain("no local server answers at http://127.0.0.1:9");
  const wrong = work("--concurrency", "0");
  expect(await wrong.ended).toBe(2);
  expect(wrong.output()).toContain("--concurrency");
});
