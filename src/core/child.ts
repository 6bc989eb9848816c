import type { ChildSubmit } from "./context.ts";
import { PermanentError, RetryAfter } from "./errors.ts";
import { Problem, problemCodes, withoutValues } from "./problem.ts";
import type { TaskRecord } from "./record.ts";
import { type SubmitPorts, submit } from "./submit.ts";

/**
 * The idempotency key of a handler's submit. No client can send it: theirs have no line breaks. A parent's id may have been
 * another task's before, whose children are not its own: the time of its making tells the two apart.
 */
const childKey = ({ task_id, created_at }: TaskRecord, key: string): string =>
  `child\n${task_id}\n${created_at}\n${key}`;

/**
 * A handler's submit: by the normal path, with the parent and the key as idempotency key, so that a retried attempt finds
 * its earlier submit.
 */
export const submitChild =
  (ports: SubmitPorts) =>
  async (parent: TaskRecord, child: ChildSubmit, key: string, traceparent = parent.traceparent): Promise<string> => {
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
        idempotencyKey: childKey(parent, key),
        correlationId: parent.correlation_id,
        traceparent,
        parentId: parent.task_id,
      });
      return record.task_id;
    } catch (error) {
      throw error instanceof Problem ? asTaskError(error) : error;
    }
  };

/** What a refused submit means for the attempt that made it: try again where waiting helps, else give up. */
function asTaskError(problem: Problem): Error {
  const { status } = problemCodes[problem.code];
  // The child's type may be sensitive where the parent's is not.
  const why = withoutValues(problem);
  if (status !== 429 && status !== 503) return new PermanentError(why, { cause: problem });
  return new RetryAfter(problem.options.retryAfterSeconds ?? 5, why, { cause: problem });
}
