import { describe, expect, test, vi } from "vitest";
import { submitChild } from "../../../../src/core/extras/children/child.ts";
import { PermanentError, PortUnavailable } from "../../../../src/core/model/errors.ts";
import { operator, submitter } from "../../../support/identities.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { children } from "../../../support/parts/children.ts";
import { operations } from "../../../support/parts/operations.ts";
import { unique } from "../../../support/parts/unique.ts";
import { typeOf } from "../../../support/task-types.ts";

const memoryPipeline = pipelineWith(children, operations, unique);

/** A pipeline with a task that submits others. */
async function setUp(identity = operator) {
  const types = [typeOf(() => 1, { name: "parent" }), typeOf((input) => input, { name: "child" })];
  const pipeline = memoryPipeline(types);
  const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
  const parent = await pipeline.accept({}, { identity, correlationId: "corr-parent", traceparent });
  const submit = submitChild(pipeline.ports);
  const childOf = async (task_id: string) => pipeline.recordOf({ tenant_id: "acme", task_id });
  return { ...pipeline, parent, submit, childOf, traceparent };
}

describe("a handler's submit", () => {
  test("a child belongs to the same tenant, principal and trace", async () => {
    const { submit, parent, childOf, traceparent } = await setUp();
    expect(await childOf(await submit(parent, { type: "child" }, "#1"))).toMatchObject({
      tenant_id: "acme",
      requested_by: "olga",
      type: "child",
      correlation_id: "corr-parent",
      traceparent,
      parent_id: parent.task_id,
    });
  });

  test("a child can be unique, and an attempt that is repeated gets the task that it joined", async () => {
    const { submit, parent, childOf, accept, drain } = await setUp();
    const unique = { key: "k", mode: "debounce", waitSeconds: 5, maxWaitSeconds: 50 } as const;
    const earlier = await accept({ type: "child", input: 1, unique: { key: "k", mode: "debounce", wait_seconds: 5 } });
    const id = await submit(parent, { type: "child", input: 2, unique }, "#1");
    expect(id).toBe(earlier.task_id);
    await drain();
    expect(await submit(parent, { type: "child", input: 2, unique }, "#1")).toBe(id);
    expect(await childOf(id)).toMatchObject({ status: "completed", result: 2 });
  });

  test("a refused unique child is a permanent error", async () => {
    const { submit, parent } = await setUp();
    const child = { type: "child", unique: { key: "k", mode: "reject" } } as const;
    await submit(parent, child, "#1");
    await expect(submit(parent, child, "#2")).rejects.toBeInstanceOf(PermanentError);
  });

  test("a child accepts the options that a client's submit accepts", async () => {
    const { submit, parent, childOf, clock, drain } = await setUp();
    const id = await submit(
      parent,
      { type: "child", input: { a: 1 }, priority: "low", delaySeconds: 60, maxAttempts: 2, tags: { x: "1" } },
      "#1",
    );
    expect(await childOf(id)).toMatchObject({
      priority: "low",
      run_at: new Date(clock.now() + 60_000).toISOString(),
      max_attempts: 2,
      tags: { x: "1" },
    });
    await drain();
    expect(await childOf(id)).toMatchObject({ status: "completed", result: { a: 1 } });
  });

  test("the child of a submitter's task is in the submitter's own list", async () => {
    const { submit, parent, childOf } = await setUp(submitter);
    expect(await childOf(await submit(parent, { type: "child" }, "#1"))).toMatchObject({ own_list: true });
  });

  test("a retried attempt finds its child again, and only under its own key and parent", async () => {
    const { submit, parent, accept, records } = await setUp();
    const first = await submit(parent, { type: "child", input: 1 }, "#1");
    expect(await submit(parent, { type: "child", input: 1 }, "#1")).toBe(first);
    const other = await accept();
    const others = [
      await submit(parent, { type: "child", input: 1 }, "#2"),
      await submit(other, { type: "child", input: 1 }, "#1"),
    ];
    expect(new Set([first, ...others]).size).toBe(3);
    expect(records.all()).toHaveLength(5);
  });

  test.each([
    ["an unknown type", { type: "nope" }],
    ["a field out of range", { type: "child", maxAttempts: 21 }],
    ["an input of more than 1 MiB", { type: "child", input: "x".repeat(1_100_000) }],
  ])("a submit with %s fails the attempt for good", async (_, child) => {
    const { submit, parent } = await setUp();
    await expect(submit(parent, child, "#1")).rejects.toThrow(PermanentError);
  });

  test("a refused submit says why without a value, as the child's type may be sensitive", async () => {
    const { submit, parent } = await setUp();
    const refused = submit(parent, { type: "child", priority: "4111-1111" as never }, "#1");
    await expect(refused).rejects.toThrow(/invalid_input: \/priority/);
    await expect(refused).rejects.not.toThrow("4111-1111");
  });

  test("a submit with the key of another one fails the attempt for good", async () => {
    const { submit, parent } = await setUp();
    await submit(parent, { type: "child", input: 1 }, "#1");
    await expect(submit(parent, { type: "child", input: 2 }, "#1")).rejects.toThrow(PermanentError);
  });

  test("a submit while a port is down is tried again with the attempt", async () => {
    const { submit, parent, queues } = await setUp();
    vi.spyOn(queues, "send").mockRejectedValueOnce(new PortUnavailable("the queue"));
    const error: unknown = await submit(parent, { type: "child" }, "#1").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(PermanentError);
    expect(await submit(parent, { type: "child" }, "#1")).toMatch(/^[0-9a-f-]{36}$/);
  });
});
