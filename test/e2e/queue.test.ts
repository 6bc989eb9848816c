import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { timePattern } from "../support/http-client.ts";
import { operator } from "./callers.ts";
import { noQueueAccess, queueAccess } from "./queue-access.ts";

const tier = "high";

/** The message as it was sent: by itself, or within failure data. */
function holds(body: string, text: string): boolean {
  if (body === text) return true;
  try {
    const original: unknown = JSON.parse(body).original_message;
    return original === text || JSON.stringify(original) === text;
  } catch {
    return false;
  }
}

// One after the other: who looks into a DLQ hides its messages from others for a moment.
describe("queue", () => {
  test.for([
    ["is no JSON", (id: string) => `this is no JSON: ${id}`],
    ["is no envelope", (id: string) => JSON.stringify({ hello: id })],
    [
      "has an unknown schema version",
      (id: string) =>
        JSON.stringify({
          schema_version: "9.0",
          message_id: id,
          task_id: id,
          type: "probe.echo",
          tenant_id: operator.tenant,
          requested_by: "nobody",
          correlation_id: id,
          enqueued_at: new Date().toISOString(),
          max_attempts: 5,
          input: { value: 1 },
        }),
    ],
  ] as const)("a message that %s ends in the DLQ, whole, and nine good tasks complete", async ([, poison], context) => {
    const queues = await queueAccess();
    if (queues === undefined) return context.skip(noQueueAccess);
    const text = poison(randomUUID());
    const good = (value: number) => operator.submit("probe.sleep", { ms: 10 * value }, { priority: tier });
    const [accepted] = await Promise.all([
      Promise.all([1, 2, 3, 4, 5, 6, 7, 8, 9].map(good)),
      queues.send(tier, text, operator.tenant),
    ]);
    for (const { task_id } of accepted) expect(await operator.ended(task_id)).toMatchObject({ status: "completed" });
    const fits = (body: string) => holds(body, text);
    expect(fits(await queues.deadLetter(tier, fits, 60_000))).toBe(true);
    await queues.remove(tier, fits);
  });

  test("a task whose handler throws fails, and its message with failure data is in the DLQ", async (context) => {
    const queues = await queueAccess();
    if (queues === undefined) return context.skip(noQueueAccess);
    const input = { kind: "permanent", message: `broken ${randomUUID()}` };
    const { task_id } = await operator.submit("probe.fail", input, { priority: tier });
    const task = await operator.ended(task_id);
    expect(task).toMatchObject({ status: "failed", attempts: 1, error_kind: "permanent", result: null });
    expect(task.error).toContain(input.message);
    expect(task.error_type).toMatch(/\S/);

    const body = await queues.deadLetter(tier, (text) => text.includes(task_id));
    expect(JSON.parse(body)).toMatchObject({
      original_message: {
        schema_version: expect.stringMatching(/^1\./),
        message_id: expect.stringMatching(/\S/),
        task_id,
        type: "probe.fail",
        tenant_id: operator.tenant,
        requested_by: task.requested_by,
        correlation_id: task.correlation_id,
        enqueued_at: expect.stringMatching(timePattern),
        max_attempts: task.max_attempts,
        input,
      },
      failure_reason: task.error,
      failure_type: task.error_type,
      failure_kind: "permanent",
      attempt_count: 1,
      first_failed_at: expect.stringMatching(timePattern),
      last_failed_at: expect.stringMatching(timePattern),
      original_queue: expect.stringContaining(tier),
    });
  });
});
