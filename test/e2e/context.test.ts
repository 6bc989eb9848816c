import { randomBytes, randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Client } from "../support/http-client.ts";
import { operator, stranger, submitter } from "./callers.ts";

interface Context {
  tenant_id: string;
  task_id: string;
  attempt: number;
  correlation_id: string;
  requested_by: string;
  traceparent: string;
}

describe.concurrent("context", () => {
  test("40 tasks of two tenants in shared batches each see their own context", async () => {
    const callers: Client[] = [operator, stranger, submitter];
    const one = async (index: number) => {
      const client = callers[index % callers.length] ?? operator;
      const correlationId = `context-${randomUUID()}`;
      const traceId = randomBytes(16).toString("hex");
      const headers = { "x-correlation-id": correlationId, traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
      const { task_id } = await client.submit("probe.context", { pause_ms: (index * 137) % 700 }, {}, headers);
      return { client, task_id, correlationId, traceId };
    };
    const submits = await Promise.all(Array.from({ length: 40 }, (_, index) => one(index)));
    for (const { client, task_id, correlationId, traceId } of submits) {
      const task = await client.ended(task_id, { timeoutMs: 240_000 });
      expect(task).toMatchObject({ status: "completed", correlation_id: correlationId });
      const seen = task.result as Context;
      expect(seen).toMatchObject({
        tenant_id: client.tenant,
        task_id,
        attempt: task.attempts,
        correlation_id: correlationId,
        requested_by: task.requested_by,
      });
      expect(seen.traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-[0-9a-f]{2}$`));
    }
  });

  test("a submit without headers gets a correlation id of its own", async () => {
    const ids = new Set<string>();
    for (let index = 0; index < 3; index++) {
      const { task_id } = await operator.submit("probe.context", {});
      const task = await operator.ended(task_id);
      expect((task.result as Context).correlation_id).toBe(task.correlation_id);
      ids.add(task.correlation_id);
    }
    expect(ids.size).toBe(3);
  });
});
