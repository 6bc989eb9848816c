import { describe, expect, test, vi } from "vitest";
import { createGate } from "../../../../src/core/limits/gate.ts";
import { noLimits } from "../../../../src/core/limits/limits.ts";
import { Problem } from "../../../../src/core/model/problem.ts";
import { submitBatch } from "../../../../src/core/pipeline/submit/submit-batch.ts";
import type { BatchEntry, SubmitPorts } from "../../../../src/core/pipeline/submit/submit-ports.ts";
import { MemoryLimits } from "../../../../src/memory/limits.ts";
import { MemoryUsage } from "../../../../src/memory/usage.ts";
import { operator } from "../../../support/identities.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { unique } from "../../../support/parts/unique.ts";
import { echo } from "../../../support/task-types.ts";

const memoryPipeline = pipelineWith(unique);

function setUp() {
  const pipeline = memoryPipeline([echo]);
  const batch = (tasks: readonly unknown[], idempotencyKey?: string, ports: SubmitPorts = pipeline.ports) =>
    submitBatch(ports, { identity: operator, body: { tasks }, correlationId: "c", idempotencyKey }, (error) => {
      throw error;
    });
  return { ...pipeline, batch };
}

const entry = (value: unknown, unique: object = { mode: "replace" }, more: object = {}) => ({
  ...{ type: "echo", input: { value }, unique: { key: "k", ...unique }, ...more },
});
const idsOf = (entries: readonly BatchEntry[]) =>
  new Set(entries.map((one) => ("accepted" in one ? one.accepted.record.task_id : one.refused.code)));
const many = Array.from({ length: 500 }, (_, value) => value);

describe("entries of a batch that replace each other's input", () => {
  test.each([
    ["replace", { mode: "replace" }],
    ["debounce", { mode: "debounce", wait_seconds: 5 }],
  ])("500 of one key, with the mode %s, are one submit, and the last input counts", async (_, unique) => {
    const { batch, records, queues, uniqueKeys, clock, drain, recordOf } = setUp();
    const writes = [vi.spyOn(records, "create"), vi.spyOn(records, "change"), vi.spyOn(records, "savePart")];
    const takes = vi.spyOn(uniqueKeys, "take");
    const entries = await batch(many.map((value) => entry(value, unique)));
    expect(entries).toHaveLength(500);
    const [taskId = ""] = idsOf(entries);
    expect([...idsOf(entries)]).toEqual([taskId]);
    expect(entries.map((one) => "accepted" in one && one.accepted.replayed)).toEqual(many.map((n) => n !== 499));
    expect(writes.reduce((sum, { mock }) => sum + mock.calls.length, 0) + takes.mock.calls.length).toBeLessThan(6);
    await clock.advance(6_000);
    expect(queues.waiting("normal")).toHaveLength(1);
    await drain();
    expect(await recordOf({ tenant_id: "acme", task_id: taskId })).toMatchObject({ result: 499 });
  });

  test("keys, types and modes are apart; other modes and entries with a key of their own are submitted each", async () => {
    const { batch } = setUp();
    const entries = await batch([
      ...[entry(1), entry(2, { key: "other", mode: "replace" }), entry(3)],
      ...[entry(4, { key: "e", mode: "existing" }), entry(5, { key: "e", mode: "existing" })],
      ...[
        entry(6, { key: "own", mode: "replace" }, { idempotency_key: "a" }),
        entry(7, { key: "own", mode: "replace" }),
      ],
    ]);
    const ids = entries.map((one) => ("accepted" in one ? one.accepted.record.task_id : ""));
    expect(ids.slice(0, 3)).toEqual([ids[2], ids[1], ids[2]]);
    expect([ids[3], ids[5]]).toEqual([ids[4], ids[6]]);
    expect(new Set(ids).size).toBe(4);
  });

  test("an entry that is at fault is refused alone; the one before the last takes its place", async () => {
    const { batch, drain, recordOf } = setUp();
    const bad = { ...entry(0), priority: "none" };
    const unreadable = new Problem("malformed_request", "");
    const entries = await batch([bad, entry(1), bad, entry(2), bad, unreadable]);
    expect(entries.map((one) => ("accepted" in one ? "accepted" : one.refused.code))).toEqual([
      ...["invalid_input", "accepted", "invalid_input", "accepted", "invalid_input", "malformed_request"],
    ]);
    const accepted = entries.filter((one) => "accepted" in one);
    expect(idsOf(accepted).size).toBe(1);
    await drain();
    const [taskId = ""] = idsOf(accepted);
    expect(await recordOf({ tenant_id: "acme", task_id: taskId })).toMatchObject({ result: 2 });
  });

  test("the same batch again, with its key, has the same answers; another one is refused", async () => {
    const { batch } = setUp();
    const first = await batch(
      many.slice(0, 20).map((value) => entry(value)),
      "key",
    );
    const again = await batch(
      many.slice(0, 20).map((value) => entry(value)),
      "key",
    );
    expect(idsOf(again)).toEqual(idsOf(first));
    const other = await batch(
      many.slice(1, 21).map((value) => entry(value)),
      "key",
    );
    expect([...idsOf(other)]).toEqual(["idempotency_key_reused"]);
  });

  test("the same batch again has the same answers over its tenant's limit, too", async () => {
    const { batch, ports, clock, log, records, queues } = setUp();
    const gate = createGate(
      { clock, log, records, usage: new MemoryUsage(), limits: new MemoryLimits(), depths: queues },
      { ...noLimits, default: { submits_per_second: 0.001, burst: 12 } },
    );
    const again = () =>
      batch(
        many.slice(0, 10).map((value) => entry(value)),
        "key",
        { ...ports, gate },
      );
    const first = idsOf(await again());
    expect(first.size).toBe(1);
    for (let times = 0; times < 3; times++) expect(idsOf(await again())).toEqual(first);
    const other = many.slice(0, 10).map((value) => entry(value, { key: "other", mode: "replace" }));
    expect([...idsOf(await batch(other, "another", { ...ports, gate }))]).toEqual(["rate_limited"]);
  });

  test("each counts toward the rate of its tenant, and none but the task toward the tasks in progress", async () => {
    const { batch, ports, clock, log, records, queues } = setUp();
    const gate = createGate(
      { clock, log, records, usage: new MemoryUsage(), limits: new MemoryLimits(), depths: queues },
      { ...noLimits, default: { submits_per_second: 1, burst: 7, tasks_in_progress: 2 } },
    );
    const entries = await batch(
      many.slice(0, 10).map((value) => entry(value)),
      undefined,
      { ...ports, gate },
    );
    expect(entries.filter((one) => "accepted" in one)).toHaveLength(7);
    expect(idsOf(entries).has("rate_limited")).toBe(true);
    expect(idsOf(entries).size).toBe(2);
  });
});
