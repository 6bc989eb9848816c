import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { replayOne } from "../../../src/core/control/act-on-task.ts";
import { maxDeadLetters } from "../../../src/core/control/find-dead-letters.ts";
import type { OperationAction } from "../../../src/core/control/operation.ts";
import { operationTypes } from "../../../src/core/control/run-operation.ts";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import type { TaskRecord } from "../../../src/core/model/record.ts";
import { requestSweep } from "../../../src/core/pipeline/end/request-own-task.ts";
import { submit } from "../../../src/core/pipeline/submit/submit.ts";
import { workBatch } from "../../../src/core/pipeline/work/work.ts";
import { internalOptions, internalTypes } from "../../../src/core/task/internal-types.ts";
import { registry } from "../../../src/core/task/task.ts";
import { operator } from "../../support/identities.ts";
import { operationsPipeline } from "../../support/operations-pipeline.ts";

type Pipeline = ReturnType<typeof operationsPipeline>;

const ids = (items: readonly { task_id: string }[]) => items.map(({ task_id }) => task_id);

/** The records of tasks as they are now. */
const now = ({ recordOf }: Pipeline, records: readonly TaskRecord[]) => Promise.all(records.map(recordOf));

const letterOf = (record: TaskRecord | undefined) => ({
  tenant_id: record?.tenant_id ?? "",
  task_id: record?.task_id ?? "",
  dead_letter_at: record?.dead_letter_at ?? "",
});

describe("an operation", () => {
  test("an operation is a task of tier high that clients can neither submit nor cancel", async () => {
    const { start, recordOf, ports, accept } = operationsPipeline();
    const operationId = await start("replay");
    const record = await recordOf({ tenant_id: "acme", task_id: operationId });
    expect(record).toMatchObject({ type: "offload.replay", priority: "high", status: "pending", requested_by: "olga" });
    expect(new Set([...internalTypes.values()].map(({ cancellable }) => cancellable))).toEqual(new Set([false]));
    expect([...ports.types.keys()].filter((name) => internalTypes.has(name))).toEqual([]);
    await expect(accept({ type: "offload.replay", input: {} })).rejects.toMatchObject({ code: "unknown_task_type" });
  });

  test("a replay covers exactly what its filter matched, and a discard empties the rest of the DLQ", async () => {
    const pipeline = operationsPipeline();
    const { deadLetter, start, finish, broken, run, deadLettered, deadLetters } = pipeline;
    const orders = await deadLetter(30);
    const mails = await deadLetter(20, { type: "mail.send" });
    broken.mended = true;
    broken.starts.length = 0;

    const replay = await start("replay", { type: "order.ship" }, { perSecond: 10 });
    expect(await finish(replay)).toEqual({
      operation_id: replay,
      status: "completed",
      matched: 30,
      done: 30,
      skipped: 0,
      failed: 0,
    });
    expect(deadLettered().toSorted()).toEqual(ids(mails).toSorted());
    for (let batch = 0; batch < 3; batch++) await run("normal");
    expect(broken.starts.toSorted()).toEqual(ids(orders).toSorted());
    for (const record of await now(pipeline, orders)) expect(record).toMatchObject({ status: "completed", round: 2 });
    expect(ids(await deadLetters()).toSorted()).toEqual(ids(mails).toSorted());

    expect(await finish(await start("discard"))).toMatchObject({ matched: 20, done: 20, skipped: 0, failed: 0 });
    expect(deadLettered()).toEqual([]);
    expect(await deadLetters()).toEqual([]);
    for (const record of await now(pipeline, mails)) expect(record).toMatchObject({ status: "failed", round: 1 });
  });

  test.for([1, 3, 10, 100])("a replay starts at most %i tasks a second, and not much fewer", async (perSecond) => {
    const pipeline = operationsPipeline();
    const deadLettered = await pipeline.deadLetter(25);
    await pipeline.finish(await pipeline.start("replay", {}, { perSecond }));
    const times = (await now(pipeline, deadLettered)).map(({ due_at }) => Date.parse(due_at)).sort((a, b) => a - b);
    for (const time of times) {
      expect(times.filter((other) => other >= time && other < time + 1000).length).toBeLessThanOrEqual(perSecond);
    }
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeLessThanOrEqual(24 * Math.ceil(1000 / perSecond));
  });

  test("a replay does not replay a task twice that fails again while it runs", async () => {
    const pipeline = operationsPipeline();
    const { deadLetter, start, clock, view } = pipeline;
    const deadLettered = await deadLetter(15);
    const operationId = await start("replay", {}, { perSecond: 1 });
    const working = pipeline.run("high");
    for (let second = 0; second < 20; second++) {
      await pipeline.work("normal");
      await clock.advance(100);
    }
    await working;
    await pipeline.drain();
    expect(await view(operationId)).toMatchObject({ status: "completed", done: 15, skipped: 0 });
    for (const record of await now(pipeline, deadLettered))
      expect(record).toMatchObject({ status: "failed", round: 2 });
    expect(pipeline.deadLettered().toSorted()).toEqual(ids(deadLettered).toSorted());
  });

  test("a dead letter that another client replayed or discarded in between counts as skipped", async () => {
    const { deadLetter, start, finish, ports, recordOf } = operationsPipeline();
    const [first, second] = await deadLetter(2);
    const operationId = await start("replay");
    await replayOne(ports, letterOf(first));
    expect(await finish(operationId)).toMatchObject({ status: "completed", matched: 2, done: 1, skipped: 1 });
    expect(await recordOf(letterOf(first))).toMatchObject({ round: 2 });
    expect(await recordOf(letterOf(second))).toMatchObject({ round: 2 });
  });

  test("ids that are not dead letters count as skipped once the rest is done", async () => {
    const { deadLetter, start, finish, view } = operationsPipeline();
    const matched = await deadLetter(1);
    const operationId = await start("discard", {}, { matched, missed: 2 });
    expect(await view(operationId)).toMatchObject({ status: "pending", matched: 1, done: 0, skipped: 0 });
    expect(await finish(operationId)).toMatchObject({ status: "completed", matched: 1, done: 1, skipped: 2 });
  });

  test("an operation with nothing to do completes", async () => {
    const { start, finish } = operationsPipeline();
    expect(await finish(await start("replay"))).toMatchObject({ status: "completed", matched: 0, done: 0 });
  });

  test("a dead letter whose input is lost counts as failed, and the operation continues", async () => {
    const { deadLetter, start, finish, ports } = operationsPipeline();
    const [lost] = await deadLetter(3);
    await ports.records.savePart(letterOf(lost), "envelope", undefined, 0);
    expect(await finish(await start("replay"))).toMatchObject({ status: "completed", done: 2, failed: 1 });
  });

  test("an operation whose own list is lost fails for good", async () => {
    const { deadLetter, start, finish, ports } = operationsPipeline();
    await deadLetter(1);
    const operationId = await start("replay");
    await ports.records.savePart({ tenant_id: "acme", task_id: operationId }, "operation#0", undefined, 0);
    expect(await finish(operationId)).toMatchObject({ status: "failed", done: 0 });
  });

  test("an operation repeats a failed call, and counts right although the call had succeeded", async () => {
    const pipeline = operationsPipeline();
    const { deadLetter, start, finish, queues } = pipeline;
    const deadLettered = await deadLetter(5);
    const send = queues.send.bind(queues);
    const operationId = await start("replay");
    let fails = 4;
    queues.send = async (message) => {
      await send(message);
      if (message.envelope.type === "order.ship" && fails-- > 0) throw new PortUnavailable("the queue");
    };
    expect(await finish(operationId)).toMatchObject({ status: "completed", done: 5, skipped: 0, failed: 0 });
    for (const record of await now(pipeline, deadLettered))
      expect(record).toMatchObject({ status: "pending", round: 2 });
  });

  test("an operation continues in a further attempt when a port stays down", async () => {
    const pipeline = operationsPipeline();
    const { deadLetter, start, finish, queues, recordOf } = pipeline;
    await deadLetter(2);
    const operationId = await start("replay");
    const send = queues.send.bind(queues);
    const backAt = pipeline.clock.now() + 30_000;
    queues.send = async (message) => {
      if (message.envelope.type === "order.ship" && pipeline.clock.now() < backAt)
        throw new PortUnavailable("the queue");
      return send(message);
    };
    expect(await finish(operationId)).toMatchObject({ status: "completed", done: 2, skipped: 0 });
    expect(await recordOf({ tenant_id: "acme", task_id: operationId })).toMatchObject({
      attempts: 2,
      history: [{ error_kind: "unavailable", outcome: "retried" }, { outcome: "completed" }],
    });
  });

  test("an operation that is longer than an attempt continues in the next one, and loses and doubles nothing", async () => {
    const pipeline = operationsPipeline();
    const { deadLetter, start, finish, recordOf } = pipeline;
    const deadLettered = await deadLetter(1_200, { batch: 10 });
    const operationId = await start("replay", {}, { perSecond: 1 });
    expect(await finish(operationId)).toMatchObject({ status: "completed", matched: 1200, done: 1200, skipped: 0 });
    expect(await recordOf({ tenant_id: "acme", task_id: operationId })).toMatchObject({ attempts: 2 });
    const rounds = new Set((await now(pipeline, deadLettered)).map(({ round }) => round));
    expect(rounds).toEqual(new Set([2]));
    expect(pipeline.deadLettered()).toEqual([]);
  });

  test("an operation always fits into its attempts", () => {
    const { timeoutSeconds, maxAttempts } = internalOptions.replay;
    const attempts = maxDeadLetters / (timeoutSeconds - 60) + 1;
    expect(attempts).toBeLessThan(maxAttempts - 4);
  });

  test("an operation of one tenant touches nothing of another", async () => {
    const { deadLetter, start, finish, recordOf, deadLettered } = operationsPipeline();
    const stranger = { tenantId: "globex", principal: "gina", role: "operator" } as const;
    const [foreign] = await deadLetter(1, { identity: stranger });
    await deadLetter(1);
    expect(await finish(await start("discard"))).toMatchObject({ matched: 1, done: 1 });
    expect(await recordOf(letterOf(foreign))).toMatchObject({ dead_letter_at: foreign?.dead_letter_at });
    expect(deadLettered()).toEqual([foreign?.task_id]);
  });
});

describe("a worker that dies in the middle of an operation", () => {
  /** Ports of a worker that stops at its nth call: before it, or after it without hearing of it. */
  function mortal({ ports }: Pipeline, deathAt: number, when: "before" | "after") {
    const never = new Promise<never>(() => {});
    let calls = 0;
    const isDead = () => calls > deathAt;
    const live = async (call: () => Promise<unknown>) => {
      if (isDead()) return never;
      calls += 1;
      if (isDead() && when === "before") return never;
      const answer = await call();
      return isDead() ? never : answer;
    };
    const wrap = <T extends object>(port: T): T =>
      new Proxy(port, {
        get: (target, name) => {
          const method = Reflect.get(target, name) as (...args: unknown[]) => Promise<unknown>;
          return (...args: unknown[]) => live(() => method.apply(target, args));
        },
      });
    const { records, queues, once } = ports;
    const own = { records: wrap(records), once: wrap(once), queues: wrap(queues) };
    const wrapped = { ...ports, ...own, deadLetterQueues: own.queues, depths: own.queues };
    return { ports: { ...wrapped, registry: registry(operationTypes(wrapped)) }, isDead };
  }

  const again = { round: 2, status: "pending" };
  const expected = {
    replay: again,
    retry: again,
    discard: { round: 1, status: "failed" },
    cancel: { round: 1, status: "cancelled" },
  };

  /** Lets a worker that dies at its nth call begin an operation, and another one finish it; false when the first one did. */
  async function dieAndGoOn(
    action: Exclude<OperationAction, "run_now" | "redeliver">,
    deathAt: number,
    when: "before" | "after",
  ): Promise<boolean> {
    const pipeline = operationsPipeline();
    const { deadLetter, accept, start, finish, queues, clock } = pipeline;
    const waiting = () =>
      Promise.all(Array.from({ length: 13 }, (_, n) => accept({ type: "order.ship", input: { n } })));
    const kept = await deadLetter(2, { type: "mail.send", batch: 2 });
    const deadLettered = action === "cancel" ? await waiting() : await deadLetter(13, { batch: 10 });
    const operationId = await start(action, {}, { matched: deadLettered });
    const doomed = mortal(pipeline, deathAt, when);
    const deliveries = queues.take("high", 10, 5400);
    let over = false;
    void workBatch(doomed.ports, deliveries, clock.now() + 900_000).then(() => {
      over = true;
    });
    while (!over && !doomed.isDead()) await clock.advance(100);
    if (over) return false;
    // Long enough for the lease, the hold of the message, and the sweep's own hold, to end.
    await clock.advance(130_000);
    expect(await finish(operationId)).toMatchObject({ status: "completed", done: 13, skipped: 0, failed: 0 });
    for (const record of await now(pipeline, deadLettered)) expect(record).toMatchObject(expected[action]);
    for (const record of await now(pipeline, kept)) expect(record).toMatchObject({ round: 1, status: "failed" });
    expect(pipeline.deadLettered().toSorted()).toEqual(ids(kept).toSorted());
    return true;
  }

  // A death after a call differs from one before the next call only where calls run at the same time, which the actions have in common.
  test.for<[Exclude<OperationAction, "run_now" | "redeliver">, "before" | "after"]>([
    ["replay", "before"],
    ["replay", "after"],
    ["discard", "before"],
    ["cancel", "before"],
    ["retry", "before"],
  ])("a death loses and doubles nothing: %s, %s each of its calls", async ([action, when]) => {
    let deaths = 0;
    // The first call is the hold of the message, which dies with nothing begun.
    while (await dieAndGoOn(action, deaths + 1, when)) deaths += 1;
    expect(deaths).toBeGreaterThan(25);
  });
});

describe("a request for a sweep", () => {
  const sweepsIn = ({ queues }: Pipeline) =>
    new Set(
      queues
        .waiting("high")
        .map(({ body }) => JSON.parse(body))
        .filter(({ type }) => type === "offload.sweep")
        .map(({ task_id }) => task_id as string),
    );

  test("requests of the same few seconds and tier share one sweep, which runs after the last of them", async () => {
    const pipeline = operationsPipeline();
    const { ports, clock, deadLetter, run, deadLettered } = pipeline;
    const deadLetters = (await deadLetter(3)).map(letterOf);
    await clock.advance(10_000 - (clock.now() % 5_000));
    for (const deadLetter of deadLetters) {
      await replayOne(ports, deadLetter);
      await requestSweep(ports, "normal", "corr-1");
      await run("high");
      await clock.advance(1_000);
    }
    await requestSweep(ports, "low", "corr-1");
    const asked = sweepsIn(pipeline);
    expect(asked.size).toBe(2);
    await clock.advance(10_000);
    await run("high");
    expect(deadLettered()).toEqual([]);
    await requestSweep(ports, "normal", "corr-1");
    expect([...sweepsIn(pipeline)].filter((id) => !asked.has(id))).toHaveLength(1);
  });

  test("a sweep belongs to no tenant, and no client can submit it", async () => {
    const { ports, records } = operationsPipeline();
    await requestSweep(ports, "normal", "corr-1");
    expect((await records.list({ tenantId: operator.tenantId, limit: 9 })).items).toEqual([]);
    const call = { identity: operator, correlationId: "corr-1" };
    const body = { type: "offload.sweep", input: { tier: "normal" } };
    await expect(submit(ports, { ...call, body })).rejects.toMatchObject({ code: "unknown_task_type" });
  });
});

test("an id of another tenant's operation, of another task or of nothing finds no operation", async () => {
  const { view, accept, start } = operationsPipeline();
  expect(await view(randomUUID())).toBeUndefined();
  expect(await view((await accept({ type: "order.ship", input: { n: 1 } })).task_id)).toBeUndefined();
  const identity = { tenantId: "globex", principal: "gina", role: "operator" } as const;
  expect(await view(await start("replay", {}, { identity }))).toBeUndefined();
});
