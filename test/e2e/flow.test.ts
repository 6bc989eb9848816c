import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { type Client, epoch, expectProblem, expectStatus } from "../support/http-client.ts";
import { admin, operator, stranger } from "./callers.ts";
import { offloadAnywhere } from "./command-line.ts";

interface Ran {
  began: string;
  ended: string;
}

const submitAll = (type: string, count: number, input: object, client: Client = operator): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, async () => (await client.submit(type, input)).task_id));

const resultsOf = async (ids: readonly string[]): Promise<Ran[]> =>
  Promise.all(ids.map(async (id) => (await operator.ended(id)).result as Ran));

/** The most tasks that ran at the same time. */
function mostAtOnce(ran: readonly Ran[]): number {
  const changes = ran.flatMap(({ began, ended }) => [[epoch(began), 1] as const, [epoch(ended), -1] as const]);
  let now = 0;
  let most = 0;
  for (const [, change] of changes.toSorted(([a, up], [b, down]) => a - b || up - down)) {
    now += change;
    most = Math.max(most, now);
  }
  return most;
}

interface TypeView {
  name: string;
  concurrency: object | null;
  rate_limit: object | null;
  paused: object | null;
  key_limits?: { key: string }[];
}

const typeOf = async (name: string, client: Client = operator): Promise<TypeView | undefined> =>
  expectStatus(await client.get("/types"), 200)
    .json<{ types: TypeView[] }>()
    .types.find((type) => type.name === name);

// One after the other: pauses and limits are of types that the others use.
describe("flow", () => {
  test("at most three tasks of a key run at the same time, and those that wait have a place in line", async () => {
    const ids = await submitAll("probe.keyed", 8, { key: randomUUID(), ms: 1_500 });
    const waits = await Promise.all(
      ids.map((id) => operator.waitFor(id, ({ status, waiting_for }) => status !== "pending" || waiting_for !== null)),
    );
    const places = waits.flatMap(({ waiting_for }) => (waiting_for === null ? [] : [waiting_for]));
    expect(places.length).toBeGreaterThan(0);
    expect(places[0]).toMatchObject({ kind: "concurrency", place: expect.any(Number) });
    expect(mostAtOnce(await resultsOf(ids))).toBe(3);
  });

  test("twenty tasks of a key with five starts a second take seconds", async () => {
    const ran = await resultsOf(await submitAll("probe.rated", 20, { key: randomUUID() }));
    const starts = ran.map(({ began }) => epoch(began)).toSorted((a, b) => a - b);
    // 3.8 s, less the time by which the first start is late.
    expect((starts.at(-1) ?? 0) - (starts[0] ?? 0)).toBeGreaterThanOrEqual(2_500);
  });

  test("an operator pauses a type for its tenant only: its tasks wait, and run when it is resumed", async () => {
    const paused = expectStatus(await operator.post("/types/probe.rated/pause", {}), 200).json();
    expect(paused).toEqual({ type: "probe.rated", paused: { all: null, tenant: expect.stringMatching(/Z$/) } });
    try {
      expect((await typeOf("probe.rated"))?.paused).toEqual(paused.paused);
      expect((await typeOf("probe.rated", stranger))?.paused).toBeNull();
      const { task_id } = await operator.submit("probe.rated", { key: randomUUID() });
      const other = await stranger.submit("probe.rated", { key: randomUUID() });
      const waiting = await operator.waitFor(task_id, (task) => task.waiting_for != null);
      expect(waiting).toMatchObject({ status: "pending", waiting_for: { kind: "pause", of: "type", place: 1 } });
      expect(await stranger.ended(other.task_id)).toMatchObject({ status: "completed" });
      expectStatus(await operator.post("/types/probe.rated/resume", {}), 200);
      expect(await operator.ended(task_id)).toMatchObject({ status: "completed" });
    } finally {
      await operator.post("/types/probe.rated/resume", {});
    }
  });

  test("a limit set by the command line applies after three seconds, and can be removed again", async () => {
    const set = async (...args: string[]) => {
      const connection = ["--url", process.env.OFFLOAD_URL ?? "", "--key", admin.token];
      expect(await offloadAnywhere(["flow", "set", "probe.keyed", ...args, ...connection])).toMatchObject({ code: 0 });
      await sleep(3_000);
    };
    const defined = { limit: 3, keyed: true, scope: "tenant" };
    await set("--limit", "1");
    try {
      expect((await typeOf("probe.keyed"))?.concurrency).toEqual({ ...defined, limit: 1, defined_limit: 3 });
      expect(mostAtOnce(await resultsOf(await submitAll("probe.keyed", 3, { key: randomUUID(), ms: 300 })))).toBe(1);
    } finally {
      await set("--as-defined");
    }
    expect((await typeOf("probe.keyed"))?.concurrency).toEqual(defined);
    const change = (body: object, client: Client) => client.send("PATCH", "/types/probe.keyed/limits", { body });
    expectProblem(await change({ concurrency: 5 }, operator), 403, "forbidden");
    expectProblem(await change({ rate: { limit: 0, per_seconds: 1 } }, admin), 422, "invalid_input");
  });

  test("an operator gives one key another limit, and takes it away", async () => {
    const connection = ["--url", process.env.OFFLOAD_URL ?? "", "--key", operator.token];
    const key = `a/${randomUUID()}`;
    const flow = async (act: string, ...args: string[]) => {
      const command = ["flow", act, "probe.keyed", "--limit-key", key, ...args, ...connection];
      expect(await offloadAnywhere(command)).toMatchObject({ code: 0 });
      await sleep(3_000);
    };
    await flow("set", "--limit", "1", "--expires-in", "10m");
    const keysOf = async () => (await typeOf("probe.keyed"))?.key_limits?.filter((one) => one.key === key);
    expect(await keysOf()).toMatchObject([{ kind: "concurrency", limit: 1, tenant_id: operator.tenant }]);
    expect(mostAtOnce(await resultsOf(await submitAll("probe.keyed", 3, { key, ms: 300 })))).toBe(1);
    await flow("clear");
    expect((await keysOf()) ?? []).toEqual([]);
    expect(mostAtOnce(await resultsOf(await submitAll("probe.keyed", 4, { key, ms: 1_500 })))).toBe(3);
  });

  test("a type that defines no limit is slowed down while it runs, and freed again", async () => {
    const connection = ["--url", process.env.OFFLOAD_URL ?? "", "--key", admin.token];
    const flow = async (...args: string[]) => {
      expect(await offloadAnywhere(["flow", ...args, ...connection])).toMatchObject({ code: 0 });
      await sleep(3_000);
    };
    await flow("set", "probe.created", "--rate", "2", "--per-seconds", "1");
    try {
      const rate = { limit: 2, per_seconds: 1, keyed: false, scope: "deployment" };
      expect((await typeOf("probe.created"))?.rate_limit).toMatchObject({ ...rate, defined_limit: null });
      const ids = await submitAll("probe.created", 6, { location: "/orders/42" });
      const ended = await Promise.all(ids.map((id) => operator.ended(id)));
      const times = ended.map(({ started_at }) => Date.parse(started_at ?? "")).toSorted((a, b) => a - b);
      expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(1_500);
    } finally {
      await flow("clear", "probe.created");
    }
    expect((await typeOf("probe.created"))?.rate_limit).toBeNull();
    expectProblem(await operator.post("/types/probe.created/breaker/close", {}), 409, "conflict");
  });

  test("what cannot be paused is not found", async () => {
    for (const path of ["/types/offload.sweep/pause", "/types/nope/resume", `/tenants/${stranger.tenant}/pause`]) {
      expectProblem(await operator.post(path, {}), 404, "not_found");
    }
    expectProblem(await operator.post("/queues/low/pause", {}), 403, "forbidden");
    expectProblem(await operator.post("/types/probe.keyed/pause", { all: true }), 403, "forbidden");
  });
});
