import { describe, expect, test, vi } from "vitest";
import { cancel, extend, retry } from "../../../../src/core/control/control.ts";
import { followers } from "../../../../src/core/extras/list.ts";
import { PermanentError, PortUnavailable } from "../../../../src/core/model/errors.ts";
import type { TaskRecord } from "../../../../src/core/model/record.ts";
import { extrasOf } from "../../../../src/core/pipeline/send/extras.ts";
import type { Extra } from "../../../../src/core/ports/extra.ts";
import { MemoryStepStore } from "../../../../src/memory/steps.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { allParts } from "../../../support/parts/all.ts";
import { typeOf } from "../../../support/task-types.ts";

const memoryPipeline = pipelineWith(...allParts);

const daySeconds = 86_400;
const down = () => Promise.reject(new PortUnavailable("the extra's port"));

/** An extra that notes the calls of its hooks. */
function noting(name: string, calls: string[]): Extra {
  const note = async (what: string, { type, status }: TaskRecord) => {
    // The sweep that a retry requests is a task, too.
    if (type === "test.task") calls.push(`${name} ${what}, ${status}`);
  };
  return {
    name,
    keep: (_, record) => note("keeps", record),
    keepEnded: (_, record) => note("keeps at the end", record),
    changed: (_, record, change) => note(`changed to ${change}`, record),
    ended: (_, record) => note("ended", record),
    beforeRound: (_, record) => note("before a round", record),
  };
}

/** A pipeline whose tasks are followed by these extras alone. */
function followedBy(list: readonly Extra[], attempts: (() => Promise<unknown>)[] = []) {
  const pipeline = memoryPipeline([typeOf(async () => attempts.shift()?.())]);
  const extras = extrasOf(list);
  Object.assign(pipeline.ports, { extras });
  return pipeline;
}

test("the hooks of all extras are called in the order of the list, around the change that each is about", async () => {
  const calls: string[] = [];
  const forGood = () => Promise.reject(new PermanentError("never"));
  const again = () => Promise.reject(new Error("not yet"));
  const pipeline = followedBy([noting("one", calls), { name: "none" }, noting("two", calls)], [forGood, again]);
  const accepted = await pipeline.accept({ retention_seconds: 60 });
  await pipeline.drain();
  await pipeline.clock.advance(30 * daySeconds * 1000);
  await retry(pipeline.ports, await pipeline.recordOf(accepted));
  await pipeline.drain();
  const both = (call: string) => [`one ${call}`, `two ${call}`];
  // The twin of the retry's message repeats the last of them.
  expect(calls.slice(0, 18)).toEqual([
    ...both("changed to processing, processing"),
    ...both("ended, failed"),
    ...both("before a round, failed"),
    ...both("keeps, failed"),
    ...both("changed to processing, processing"),
    ...both("keeps, processing"),
    ...both("changed to pending, pending"),
    ...both("changed to processing, processing"),
    ...both("ended, completed"),
  ]);
});

test("each extra has its place in the list of all, and a hook that none has is empty", () => {
  const { keep, keepRead, ...others } = followers(new MemoryStepStore());
  expect([keep, keepRead, ...Object.values(others)].map(({ length }) => length)).toEqual([4, 1, 1, 1, 4, 1, 2]);
  expect(extrasOf([{ name: "none" }])).toEqual({
    ...{ keep: [], keepRead: [], keepEnded: [] },
    ...{ changed: [], ended: [], discarded: [], beforeRound: [] },
  });
});

describe("an extra whose port does not answer", () => {
  test("keep: the change is not made, and its repeat keeps first", async () => {
    const pipeline = memoryPipeline();
    const record = await pipeline.accept({ unique: { key: "k" }, retention_seconds: 60 });
    vi.spyOn(pipeline.uniqueKeys, "keep").mockImplementationOnce(down);
    const longer = () => extend(pipeline.ports, record, 30 * daySeconds);
    await expect(longer()).rejects.toThrow(PortUnavailable);
    expect(await pipeline.recordOf(record)).toEqual(record);
    const { purge_at } = await longer();
    expect(pipeline.uniqueKeys.purgeAtOf({ ...record, unique_key: record.unique_key ?? "" })).toBeGreaterThan(purge_at);
  });

  test("keep: the end of an attempt waits for it", async () => {
    let tries = 0;
    const keep = async () => {
      tries += 1;
      if (tries === 1) await down();
    };
    const pipeline = followedBy([{ name: "once", keep }], [() => Promise.reject(new Error("not yet"))]);
    const record = await pipeline.accept({ retention_seconds: 60 });
    await pipeline.clock.advance(1000);
    expect(await pipeline.work()).toEqual(["done"]);
    expect([tries, (await pipeline.recordOf(record)).status]).toEqual([2, "pending"]);
  });

  test("keepRead: a change by others is not made", async () => {
    const pipeline = followedBy([{ name: "down", keepRead: down }]);
    const record = await pipeline.accept({ retention_seconds: 60 });
    await expect(extend(pipeline.ports, record, 30 * daySeconds)).rejects.toThrow(PortUnavailable);
    expect(await pipeline.recordOf(record)).toEqual(record);
  });

  test("keepRead: a wait of days has begun, and the message comes again", async () => {
    const retry = { waitsSeconds: [2 * daySeconds], capSeconds: 2 * daySeconds };
    const fails = typeOf(() => Promise.reject(new Error("not yet")), { retry });
    const pipeline = memoryPipeline([fails]);
    const load = vi.spyOn(pipeline.steps, "load").mockImplementationOnce(down);
    const record = await pipeline.accept();
    expect(await pipeline.work()).toEqual(["again"]);
    expect([load.mock.calls.length, (await pipeline.recordOf(record)).status]).toEqual([1, "pending"]);
  });

  test("keepRead: a parent does not wait for its children before what it has read is kept", async () => {
    const states: unknown[] = [];
    const spawns = typeOf((_, task) => task.spawn({ type: "test.task", input: {} }), { children: {}, maxAttempts: 1 });
    const pipeline = memoryPipeline([spawns]);
    const keepRead = async (_: unknown, record: TaskRecord) => {
      states.push((await pipeline.recordOf(record)).family_state);
    };
    Object.assign(pipeline.ports, { extras: extrasOf([{ name: "seen", keepRead }]) });
    const parent = await pipeline.accept();
    await pipeline.work();
    expect(states).toEqual(["spawning"]);
    expect((await pipeline.recordOf(parent)).family_state).toBe("waiting");
  });

  test("keepEnded: the task does not end, and a repeat ends it", async () => {
    const keepEnded = vi.fn<NonNullable<Extra["keepEnded"]>>().mockImplementationOnce(down);
    const pipeline = followedBy([{ name: "once", keepEnded }]);
    const record = await pipeline.accept({ retention_seconds: 60 });
    await pipeline.clock.advance(30 * daySeconds * 1000);
    await expect(cancel(pipeline.ports, record)).rejects.toThrow(PortUnavailable);
    expect((await pipeline.recordOf(record)).status).toBe("pending");
    expect((await cancel(pipeline.ports, record)).status).toBe("cancelled");
    expect(keepEnded).toHaveBeenCalledTimes(2);
  });

  test("changed: the task goes on, and nothing repeats the call", async () => {
    const pipeline = memoryPipeline([typeOf(async () => 1)]);
    const hears = vi.spyOn(pipeline.notices, "hears").mockImplementationOnce(down);
    const record = await pipeline.accept();
    expect(await pipeline.work()).toEqual(["done"]);
    expect((await pipeline.recordOf(record)).status).toBe("completed");
    // The second call is for the end.
    expect(hears).toHaveBeenCalledTimes(2);
    expect(pipeline.log.lines).toContainEqual(
      expect.objectContaining({ level: "warn", message: "could not tell channels of a change" }),
    );
  });

  test("ended: the task has ended, and the next delivery of its message calls it again", async () => {
    const pipeline = memoryPipeline();
    pipeline.notices.events = true;
    vi.spyOn(pipeline.notices, "send").mockImplementationOnce(down);
    const record = await pipeline.accept();
    await expect(cancel(pipeline.ports, record)).rejects.toThrow(PortUnavailable);
    expect((await pipeline.recordOf(record)).status).toBe("cancelled");
    expect(pipeline.notices.queued).toHaveLength(0);
    expect(await pipeline.work()).toEqual(["done"]);
    expect(pipeline.notices.queued).toHaveLength(1);
  });

  test("ended: the letter of a failed task is sent after it", async () => {
    const pipeline = memoryPipeline([typeOf(() => Promise.reject(new PermanentError("never")))]);
    pipeline.notices.events = true;
    const send = vi.spyOn(pipeline.notices, "send").mockImplementationOnce(down);
    const deadLetter = vi.spyOn(pipeline.queues, "deadLetter");
    await pipeline.accept();
    await pipeline.work();
    const [failed = 0, sent = 0] = send.mock.invocationCallOrder;
    const [deadLettered = 0] = deadLetter.mock.invocationCallOrder;
    expect([send.mock.calls.length, deadLetter.mock.calls.length, failed < sent, sent < deadLettered]).toEqual([
      2,
      1,
      true,
      true,
    ]);
  });

  test("beforeRound: the round does not start, and a repeat tells of the end first", async () => {
    const pipeline = memoryPipeline([typeOf(() => Promise.reject(new PermanentError("never")))]);
    const record = await pipeline.accept();
    await pipeline.work();
    // As a worker leaves it that dies after the change.
    const { record: failed = record } = await pipeline.records.change(record, {
      when: {},
      set: {},
      remove: ["buried_at"],
    });
    pipeline.notices.events = true;
    vi.spyOn(pipeline.notices, "send").mockImplementationOnce(down);
    await expect(retry(pipeline.ports, failed)).rejects.toThrow(PortUnavailable);
    expect((await pipeline.recordOf(record)).round).toBe(1);
    expect((await retry(pipeline.ports, failed)).round).toBe(2);
    expect(pipeline.notices.queued).toHaveLength(1);
  });
});
