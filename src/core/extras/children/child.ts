import { PermanentError, RetryAfter } from "../../model/errors.ts";
import { Problem, problemCodes, withoutValues } from "../../model/problem.ts";
import type { TaskRecord } from "../../model/record.ts";
import { submit } from "../../pipeline/submit/submit.ts";
import type { SubmitCall, SubmitPorts } from "../../pipeline/submit/submit-ports.ts";
import type { ChildSubmit, UniqueOptions } from "../../task/handler-submit.ts";

/**
 * The idempotency key of a handler's submit. No client can send it, because their keys have no line breaks. A parent's
 * id may have belonged to an earlier task with other children: `created_at` tells the two apart.
 */
const childKey = ({ task_id, created_at }: TaskRecord, key: string): string =>
  `child\n${task_id}\n${created_at}\n${key}`;

const uniqueOf = ({ key, mode, waitSeconds, maxWaitSeconds }: UniqueOptions) => ({
  key,
  mode,
  wait_seconds: waitSeconds,
  max_wait_seconds: maxWaitSeconds,
});

/** The submit of a handler's child. */
export const childCall = (
  parent: TaskRecord,
  child: ChildSubmit,
  idempotencyKey: string,
  traceparent: string | undefined,
): SubmitCall => ({
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
    expires_in_seconds: child.expiresInSeconds,
    max_attempts: child.maxAttempts,
    tags: child.tags,
    ...(child.unique && { unique: uniqueOf(child.unique) }),
  },
  idempotencyKey,
  correlationId: parent.correlation_id,
  traceparent,
  parentId: parent.task_id,
});

/**
 * Submits a task for a handler, by the normal path. Parent and key make the idempotency key, so that a retried attempt
 * finds its earlier submit.
 */
export const submitChild =
  (ports: SubmitPorts) =>
  async (parent: TaskRecord, child: ChildSubmit, key: string, traceparent = parent.traceparent): Promise<string> => {
    try {
      const { record } = await submit(ports, childCall(parent, child, childKey(parent, key), traceparent));
      return record.task_id;
    } catch (error) {
      throw error instanceof Problem ? asTaskError(error) : error;
    }
  };

/** The error of the attempt whose submit was refused: retried when waiting helps, otherwise permanent. */
export function asTaskError(problem: Problem): Error {
  const { status } = problemCodes[problem.code];
  // The child's type may be sensitive although the parent's is not.
  const why = withoutValues(problem);
  if (status !== 429 && status !== 503) return new PermanentError(why, { cause: problem });
  return new RetryAfter(problem.options.retryAfterSeconds ?? 5, why, { cause: problem });
}
