import type { ChildSubmit } from "./context.ts";
import { dispatch } from "./dispatch.ts";
import { PermanentError, RetryAfter } from "./errors.ts";
import type { FamilyPlace } from "./family/place.ts";
import { spawnKey } from "./family/spawned-id.ts";
import { newEnvelope } from "./new-task.ts";
import { Problem, problemCodes, withoutValues } from "./problem.ts";
import { iso, longestQueueLifeSeconds, type TaskRecord } from "./record.ts";
import { reportChanged } from "./report.ts";
import { type SubmitPorts, submit } from "./submit.ts";
import type { SubmitCall } from "./submit-call.ts";

/**
 * The idempotency key of a handler's submit. No client can send it, because their keys have no line breaks. A parent's id may
 * have belonged to an earlier task with other children: `created_at` tells the two apart.
 */
const childKey = ({ task_id, created_at }: TaskRecord, key: string): string =>
  `child\n${task_id}\n${created_at}\n${key}`;

const callOf = (
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
  },
  idempotencyKey,
  correlationId: parent.correlation_id,
  traceparent,
  parentId: parent.task_id,
});

/**
 * Submits a task for a handler, by the normal path. Parent and key make the idempotency key, so that a retried attempt finds
 * its earlier submit.
 */
export const submitChild =
  (ports: SubmitPorts) =>
  async (parent: TaskRecord, child: ChildSubmit, key: string, traceparent = parent.traceparent): Promise<string> => {
    try {
      const { record } = await submit(ports, callOf(parent, child, childKey(parent, key), traceparent));
      return record.task_id;
    } catch (error) {
      throw error instanceof Problem ? asTaskError(error) : error;
    }
  };

/**
 * Creates a child of a family, or finds the one that an earlier attempt created. A child that ended in an earlier round of the parent
 * without completing starts again, with the input of this spawn. Returns its record.
 */
export const spawnChild =
  (ports: SubmitPorts) =>
  async (
    parent: TaskRecord,
    child: ChildSubmit,
    key: string,
    family: FamilyPlace,
    traceparent = parent.traceparent,
  ): Promise<TaskRecord> => {
    try {
      const call = { ...callOf(parent, child, spawnKey(parent, key), traceparent), family };
      const { record, replayed } = await submit(ports, call);
      return replayed ? await startAgain(ports, record, child.input, family) : record;
    } catch (error) {
      throw error instanceof Problem ? asTaskError(error) : error;
    }
  };

/** The statuses of children that a new round of their parent starts again. */
const startedAgain: readonly string[] = ["failed", "cancelled", "expired"];

async function startAgain(
  ports: SubmitPorts,
  child: TaskRecord,
  input: unknown,
  { leaf, place, round }: FamilyPlace,
): Promise<TaskRecord> {
  const now = ports.clock.now();
  const isOfEarlierRound = child.family_round !== undefined && child.family_round < round;
  if (startedAgain.includes(child.status) && isOfEarlierRound) {
    const purgeAt = Math.ceil(now / 1000) + longestQueueLifeSeconds + child.retention_seconds;
    await ports.records.savePart(child, `round#${child.round}`, child.history, purgeAt);
    const changed = await ports.records.change(child, {
      when: {
        status: { is: child.status },
        round: { is: child.round },
        family_round: { is: child.family_round ?? round },
      },
      set: {
        status: "pending",
        updated_at: iso(now),
        due_at: iso(now),
        attempts: 0,
        history: [],
        purge_at: purgeAt,
        family_leaf: leaf,
        family_place: place,
        family_round: round,
      },
      add: { round: 1 },
      remove: [
        "finished_at",
        "retained_until",
        "dead_letter_at",
        "buried_at",
        "progress",
        "cancel_requested_at",
        "expires_at",
        "start_by",
        "family_state",
        "family_root",
        "family_counts",
        "closing_from",
      ],
    });
    if (changed.done) reportChanged(ports, changed.record, "replayed");
    return startAgain(ports, changed.record ?? child, input, { leaf, place, round });
  }
  // An earlier attempt of the parent may have died before it sent the message of the child's new round.
  const mayLackMessage = child.status === "pending" && child.attempts === 0 && child.round > 1;
  if (mayLackMessage) await dispatch(ports, child, newEnvelope(ports, child, input));
  return child;
}

/** The error of the attempt whose submit was refused: retried when waiting helps, otherwise permanent. */
function asTaskError(problem: Problem): Error {
  const { status } = problemCodes[problem.code];
  // The child's type may be sensitive although the parent's is not.
  const why = withoutValues(problem);
  if (status !== 429 && status !== 503) return new PermanentError(why, { cause: problem });
  return new RetryAfter(problem.options.retryAfterSeconds ?? 5, why, { cause: problem });
}
