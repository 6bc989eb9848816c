import type { ChildSubmit } from "./context.ts";
import { PermanentError } from "./errors.ts";
import { Problem } from "./problem.ts";
import type { TaskRecord } from "./record.ts";
import { type SubmitPorts, submit } from "./submit.ts";

/**
 * A handler's submit: by the normal path, with the parent and the key as idempotency key, so that a retried attempt finds
 * its earlier submit.
 */
export const submitChild =
  (ports: SubmitPorts) =>
  async (parent: TaskRecord, child: ChildSubmit, key: string): Promise<string> => {
    try {
      const { record } = await submit(ports, {
        identity: {
          tenantId: parent.tenant_id,
          principal: parent.requested_by,
          role: parent.own_list ? "submitter" : "operator",
        },
        body: {
          type: child.type,
          input: child.input,
          priority: child.priority,
          delay_seconds: child.delaySeconds,
          max_attempts: child.maxAttempts,
          tags: child.tags,
        },
        idempotencyKey: `child of ${parent.task_id}: ${key}`,
        correlationId: parent.correlation_id,
        traceparent: parent.traceparent,
        parentId: parent.task_id,
      });
      return record.task_id;
    } catch (error) {
      if (error instanceof Problem && error.code !== "unavailable")
        throw new PermanentError(error.message, { cause: error });
      throw error;
    }
  };
