import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startServerOf, type TestServer } from "../../src/installed/test-server.ts";
import { startContainerWorker } from "../support/container-worker.ts";
import { Client, epoch, expectProblem, expectStatus, type Task, until } from "../support/http-client.ts";

const dayMs = 86_400_000;
const hourMs = 3_600_000;
/** Only ends what hangs. */
const longest = { timeout: 900_000 };

interface Clock {
  now: string;
  ahead_seconds: number;
  moving: { to: string; waits_for: string | null } | null;
}

interface Moved extends Clock {
  arrived: boolean;
  did: Record<string, number>;
  summary: string;
}

/** A server whose data outlives it, and a client of it. */
class Machine {
  readonly #stateFolder = mkdtempSync(join(tmpdir(), "offload-clock-"));
  readonly #env: Record<string, string>;
  #server: TestServer | undefined;

  constructor(env: Record<string, string> = {}) {
    this.#env = env;
    onTestFinished(async () => {
      await this.#server?.kill();
      rmSync(this.#stateFolder, { recursive: true, force: true });
    });
  }

  get server(): TestServer {
    if (this.#server === undefined) throw new Error("the machine is off");
    return this.#server;
  }

  get client(): Client {
    return new Client(this.server.url, { token: "dev-acme", tenant: "acme", role: "operator" });
  }

  async start(): Promise<this> {
    this.#server = await startServerOf("bin/offload.js", { stateFolder: this.#stateFolder, env: this.#env });
    return this;
  }

  async restart(): Promise<void> {
    await this.server.stop();
    await this.start();
  }

  async clock(): Promise<Clock> {
    return expectStatus(await this.client.get("/_local/clock"), 200).json<Clock>();
  }

  async move(order: { advance_seconds: number } | { at: string }): Promise<Moved> {
    return expectStatus(await this.client.post("/_local/clock", order), 200).json<Moved>();
  }

  async schedule(body: object): Promise<string> {
    return expectStatus(await this.client.post("/schedules", body), 201).json<{ schedule_id: string }>().schedule_id;
  }
}

/** Milliseconds of a time, which must have come. */
const at = (time: string | null | undefined): number => epoch(time);

/** The clock of Berlin's walls, from the machine's own tables of zones. */
const berlin = new Intl.DateTimeFormat("en-GB", {
  ...{ timeZone: "Europe/Berlin", year: "numeric", month: "2-digit", day: "2-digit" },
  ...{ hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
});

/** Each 02:30 in Berlin: one for each day that has one, and the first where a day has two. */
function halfPastTwo(fromMs: number, toMs: number): string[] {
  const byDay = new Map<string, string>();
  for (let ms = fromMs; ms < toMs; ms += 30 * 60_000) {
    const [day = "", time] = berlin.format(ms).split(", ");
    if (time === "02:30" && !byDay.has(day)) byDay.set(day, new Date(ms).toISOString());
  }
  return [...byDay.values()];
}

/** What ran of a year: tasks are kept for a month, so they are read as it goes. */
class Year {
  readonly tasks = new Map<string, Task>();

  async read(client: Client): Promise<void> {
    for (const task of await client.list("type=probe.echo&limit=100")) this.tasks.set(task.task_id, task);
  }

  /** The tasks with this value, oldest first. */
  of(value: string): Task[] {
    const all = [...this.tasks.values()].filter(({ result }) => (result as { value?: string } | null)?.value === value);
    return all.sort((a, b) => at(a.started_at) - at(b.started_at));
  }
}

const year = new Date().getUTCFullYear() + 1;
const startOf = `${year}-01-01T00:00:00.000Z`;
const endOf = `${year + 1}-01-01T00:00:00.000Z`;

test(
  "a year of 02:30 in Berlin, delays, retries, sleeps and expiry, over three restarts and a kill",
  longest,
  async () => {
    const machine = await new Machine().start();
    await machine.move({ at: startOf });
    const { client } = machine;
    const schedule_id = await machine.schedule({
      ...{ name: "berlin", cron: "30 2 * * *", timezone: "Europe/Berlin" },
      task: { type: "probe.echo", input: { value: "half past two" }, retention_seconds: 2_592_000 },
    });
    const delays = [1, 40, 100, 201, 300, 364].map((days) => at(startOf) + days * dayMs + 12_345);
    for (const ms of delays) {
      const options = { run_at: new Date(ms).toISOString(), retention_seconds: 2_592_000 };
      await client.submit("probe.echo", { value: "delayed" }, options);
    }
    const retried = await client.submit(
      "probe.fail",
      { kind: "rate_limited", times: 4, retry_after_seconds: 7_200 },
      { retention_seconds: 2_592_000 },
    );
    const slept = await client.submit("probe.steps", { steps: 4, sleep_seconds: 90 * 86_400 });
    const seenTasks = new Year();
    const did: Record<string, number> = {};
    const counted = ({ did: more }: Moved) => {
      for (const [name, count] of Object.entries(more)) did[name] = (did[name] ?? 0) + count;
    };
    const part = async (days: number) => {
      counted(await machine.move({ at: new Date(at(startOf) + days * dayMs).toISOString() }));
      await seenTasks.read(machine.client);
    };
    /** A task that may not start for two hours, and waits for one. The line of a pause is looked at every few minutes. */
    const expire = async (day: number) => {
      expectStatus(await machine.client.post("/types/probe.sleep/pause"), 200);
      const { task_id, created_at } = await machine.client.submit(
        "probe.sleep",
        { ms: 1 },
        { expires_in_seconds: 3_600 },
      );
      await part(day + 1 / 12);
      expectStatus(await machine.client.post("/types/probe.sleep/resume"), 200);
      const { status, attempts, expires_at, finished_at } = await machine.client.task(task_id);
      expect({ status, attempts, ms: at(expires_at) }).toEqual({
        ...{ status: "expired", attempts: 0, ms: at(created_at) + 3_600_000 },
      });
      expect(at(finished_at)).toBe(at(expires_at));
    };
    await part(25);
    await expire(25);
    // Each retry two hours after the one before, to the second in which its attempt ends.
    const attempts = await client.attempts(retried.task_id);
    expect(attempts.map(({ outcome }) => outcome)).toEqual(["retried", "retried", "retried", "retried", "completed"]);
    for (const [index, { next_attempt_at }] of attempts.slice(0, 4).entries()) {
      expect(at(next_attempt_at) - at(attempts[index]?.finished_at)).toBe(2 * hourMs);
      const lateMs = at(attempts[index + 1]?.started_at) - at(next_attempt_at);
      expect(lateMs).toBeGreaterThanOrEqual(0);
      expect(lateMs).toBeLessThan(60_000);
    }
    for (const days of [50, 75, 100]) await part(days);
    await machine.restart();
    for (const days of [125, 150, 175, 200]) await part(days);
    await machine.restart();
    // The power fails while it moves.
    const broken = machine.move({ at: new Date(at(startOf) + 225 * dayMs).toISOString() }).catch(() => undefined);
    const before = at(startOf) + 205 * dayMs;
    await until("the clock on its way", async () => at((await machine.clock()).now) > before || undefined);
    const seen = at((await machine.clock()).now);
    await machine.server.kill();
    await broken;
    await machine.start();
    const after = at((await machine.clock()).now);
    expect(after).toBeGreaterThanOrEqual(seen);
    for (const days of [225, 250, 275]) await part(days);
    const { status, created_at, finished_at, attempts: tries } = await machine.client.task(slept.task_id);
    expect({ status, tries }).toEqual({ status: "completed", tries: 1 });
    const sleptMs = at(finished_at) - at(created_at);
    expect(sleptMs).toBeGreaterThanOrEqual(270 * dayMs);
    expect(sleptMs).toBeLessThan(270 * dayMs + 60_000);
    await machine.restart();
    await expire(275);
    for (const days of [300, 325, 350]) await part(days);
    counted(await machine.move({ at: endOf }));
    await seenTasks.read(machine.client);

    const expected = halfPastTwo(at(startOf), at(endOf));
    expect(expected).toHaveLength((at(endOf) - at(startOf)) / dayMs - 1);
    const fired = seenTasks.of("half past two");
    expect(fired.map(({ scheduled_for }) => scheduled_for)).toEqual(expected);
    expect(did.schedule_firings).toBeGreaterThan(300);
    for (const { scheduled_for, created_at, started_at } of fired) {
      expect(at(created_at)).toBeGreaterThanOrEqual(at(scheduled_for));
      expect(at(started_at) - at(scheduled_for)).toBeLessThan(60_000);
    }
    expect((await machine.client.get(`/schedules/${schedule_id}`)).json()).toMatchObject({
      skipped: 0,
      last_error: null,
    });
    expect(did.expired).toBe(2);
    const delayed = seenTasks.of("delayed");
    expect(delayed.map(({ run_at }) => at(run_at))).toEqual(delays);
    for (const { started_at, run_at } of delayed) {
      expect(at(started_at)).toBeGreaterThanOrEqual(at(run_at));
      expect(at(started_at) - at(run_at)).toBeLessThan(60_000);
    }
  },
);

/** A server that keeps nothing, of a test's own. */
const started = async (env?: Record<string, string>): Promise<Machine> => new Machine(env).start();

test("it plays each thing once and at its time, and says what it did", longest, async () => {
  const machine = await started();
  const { client } = machine;
  const from = at((await machine.clock()).now);
  // Runs for 90 minutes, and is skipped while it does.
  const task = { type: "probe.steps", input: { steps: 2, sleep_seconds: 5_400 } };
  const schedule = await machine.schedule({ name: "hourly", cron: "0 * * * *", overlap: "skip", task });
  await machine.client.post("/types/probe.context/pause", {});
  const paused = await client.submit("probe.context", {}, { expires_in_seconds: 10 * 3_600 });
  const failed = await client.submit("probe.fail", { kind: "permanent" });
  const moved = await machine.move({ advance_seconds: 86_400 });
  expect(moved).toMatchObject({ ahead_seconds: 86_400, arrived: true, moving: null });
  expect(at(moved.now) - from).toBeGreaterThanOrEqual(86_400_000);
  expect(moved.did).toMatchObject({ retries: 0, failed: 1, cancelled: 0, expired: 1 });
  const { skipped } = (await client.get(`/schedules/${schedule}`)).json<{ skipped: number }>();
  expect(moved.did.schedule_firings).toBe(24);
  expect(skipped).toBe(12);
  expect(await client.list("type=probe.steps")).toHaveLength(12);
  expect(moved.summary).toMatch(/^1 day: 24 schedule firings, 1[12] completed, 1 failed, 1 expired$/);
  expect(await client.task(paused.task_id)).toMatchObject({ status: "expired", attempts: 0 });
  expect(await client.task(failed.task_id)).toMatchObject({ status: "failed" });
});

test(
  "what runs keeps the machine's time: an attempt in a function and one in a container, and URLs of files",
  longest,
  async () => {
    const machine = await started();
    const { client } = machine;
    const file = await client.submit("probe.bytes", { bytes: 3_000_000, as: "file" });
    await client.ended(file.task_id);
    const headers = { authorization: "Bearer dev-acme" };
    const redirect = await fetch(`${machine.server.url}/tasks/${file.task_id}/result`, { headers, redirect: "manual" });
    const url = redirect.headers.get("location") ?? "";
    expect(url).toContain("X-Amz-Expires");
    const running = await Promise.all([
      client.submit("probe.sleep", { ms: 3_000 }),
      client.submit("probe.long", { ms: 3_000 }),
    ]);
    for (const { task_id } of running) await client.waitFor(task_id, ({ status }) => status !== "pending");
    await machine.move({ advance_seconds: 2 * 86_400 });
    for (const { task_id } of running) {
      const { result, status, attempts } = await client.task(task_id);
      expect({ status, attempts }).toEqual({ status: "completed", attempts: 1 });
      expect((result as { slept_ms: number }).slept_ms).toBeLessThan(86_400_000);
    }
    expect((await fetch(url)).status).toBe(200);
    // Also in a container, what comes later has the server's time.
    const later = await client.submit("probe.long", { ms: 1 }, { delay_seconds: 3_600 });
    await machine.move({ advance_seconds: 3_700 });
    const { started_at, run_at } = await client.task(later.task_id);
    expect(at(started_at)).toBeGreaterThanOrEqual(at(run_at));
    expect(at(started_at) - at(run_at)).toBeLessThan(60_000);
  },
);

test(
  "a container worker that a user has started follows the clock, and a move waits for its attempts",
  longest,
  async () => {
    const machine = await started({ OFFLOAD_CONTAINER_CONCURRENCY: "0" });
    const { client } = machine;
    await machine.move({ advance_seconds: 86_400 });
    const worker = startContainerWorker(machine.server.url);
    onTestFinished(async () => {
      worker.child.kill();
      await worker.ended;
    });
    const { task_id } = await client.submit("probe.long", { ms: 3_000 });
    await client.waitFor(task_id, ({ status }) => status !== "pending");
    await machine.move({ advance_seconds: 2 * 86_400 });
    expect(await client.task(task_id)).toMatchObject({ status: "completed", attempts: 1 });
    const later = await client.submit("probe.long", { ms: 1 }, { delay_seconds: 3_600 });
    await machine.move({ advance_seconds: 3_700 });
    const { started_at, run_at, attempts } = await client.task(later.task_id);
    expect(attempts).toBe(1);
    expect(at(started_at)).toBeGreaterThanOrEqual(at(run_at));
    expect(at(started_at) - at(run_at)).toBeLessThan(60_000);
  },
);

test(
  "it only goes forward; a reset needs an empty state, and schedules of the code then go on from now",
  longest,
  async () => {
    const machine = await started();
    const { client } = machine;
    const order = (body: object) => client.post("/_local/clock", body);
    expectProblem(await order({ at: "2020-01-01T00:00:00Z" }), 422, "invalid_input");
    expectProblem(await order({ advance_seconds: -1 }), 422, "invalid_input");
    expectProblem(await order({ advance_seconds: 1e12 }), 422, "invalid_input");
    expectProblem(await order({ at: "tomorrow" }), 422, "invalid_input");
    expectProblem(await order({ reset: true, advance_seconds: 1 }), 422, "invalid_input");
    expectProblem(await order({}), 422, "invalid_input");
    expect((await machine.clock()).ahead_seconds).toBe(0);
    await machine.move({ advance_seconds: 3 * 86_400 });
    expectStatus(await order({ reset: true }), 200);
    const back = await machine.clock();
    expect(back.ahead_seconds).toBe(0);
    expect(Math.abs(at(back.now) - Date.now())).toBeLessThan(60_000);
    const { task_id, created_at } = await client.submit("probe.echo", { value: 1 });
    expect(Math.abs(at(created_at) - Date.now())).toBeLessThan(60_000);
    expect(await client.ended(task_id)).toMatchObject({ status: "completed" });
    await machine.move({ advance_seconds: 60 });
    expectProblem(await order({ reset: true }), 409, "conflict");
    await machine.restart();
    expect((await machine.clock()).ahead_seconds).toBe(60);
    expect(machine.server.output()).toContain("1 minute ahead");
  },
);

test("a move can be ended on its way, and the next one goes on from there", longest, async () => {
  const machine = await started();
  const { task_id } = await machine.client.submit("probe.sleep", { ms: 20_000 });
  await machine.client.waitFor(task_id, ({ status }) => status === "processing");
  const moving = machine.move({ advance_seconds: 86_400 });
  const { moving: seen } = await until("a move that waits", async () => {
    const clock = await machine.clock();
    return clock.moving?.waits_for == null ? undefined : clock;
  });
  expect(seen?.waits_for).toContain("probe.sleep");
  expectStatus(await machine.client.send("DELETE", "/_local/clock"), 200);
  expect(await moving).toMatchObject({ arrived: false, ahead_seconds: 0 });
  await machine.client.post(`/tasks/${task_id}/cancel`);
  expect(await machine.move({ advance_seconds: 60 })).toMatchObject({ arrived: true, ahead_seconds: 60 });
});
