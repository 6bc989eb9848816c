import type { Changed } from "../../model/change.ts";
import type { Envelope } from "../../model/envelope.ts";
import { PermanentError, RetryAfter } from "../../model/errors.ts";
import type { FamilyPlace } from "../../model/family-node.ts";
import { spawnKey } from "../../model/idempotency.ts";
import { Problem, problemCodes, withoutValues } from "../../model/problem.ts";
import { iso, longestQueueLifeSeconds, type TaskRecord } from "../../model/record.ts";
import { isTerminal } from "../../model/words.ts";
import { sweepsOfMany } from "../../pipeline/end/request-own-task.ts";
import { dispatch } from "../../pipeline/send/dispatch.ts";
import * as extras from "../../pipeline/send/extras.ts";
import { keptEnvelope, newestKept } from "../../pipeline/send/kept-input.ts";
import { storedEnvelope } from "../../pipeline/send/large-input.ts";
import { endOfRound, storeRound } from "../../pipeline/send/parts.ts";
import { reportChanged } from "../../pipeline/send/report.ts";
import { submit } from "../../pipeline/submit/submit.ts";
import type { SubmitCall, SubmitPorts } from "../../pipeline/submit/submit-ports.ts";
import type { EndPorts } from "../../ports/extra.ts";
import type { ChildSubmit, NamedSpawn, UniqueOptions } from "../../task/handler-submit.ts";
import { storedFiles } from "../../task/task-file.ts";

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

/** The ports of a child that may start again. */
type RoundPorts = SubmitPorts & EndPorts;

/** Requests the sweep of a dead letter that a child is, before it starts again. */
type Sweeps = (child: TaskRecord) => Promise<void>;

/**
 * Creates a child of a family, or finds the child that an earlier attempt created. A child of an earlier round of the
 * parent that has not completed joins the present round: it starts again, with the input of this spawn, or goes on if
 * it has not ended. Returns its record.
 * @throws RetryAfter when the child cannot be accepted now; PermanentError when it never can
 */
export function spawnChild(ports: RoundPorts) {
  const sweeps = sweepsOfMany(ports);
  return async (
    parent: TaskRecord,
    child: NamedSpawn,
    key: string,
    family: FamilyPlace,
    traceparent = parent.traceparent,
  ): Promise<TaskRecord> => {
    try {
      const call = {
        ...childCall(parent, child, spawnKey(parent, key), traceparent),
        family: { ...countedAt(family), ...(family.awaited && { family_awaited: true as const }) },
        ...(child.files && { files: storedFiles(child.files) }),
      };
      const { record, replayed } = await submit(ports, call);
      return replayed ? await joinRound(ports, sweeps, record, child.input, family) : record;
    } catch (error) {
      throw error instanceof Problem ? asTaskError(error) : error;
    }
  };
}

/**
 * Lets a child join the present round of its parent, which does not spawn it: a step did, whose result is stored, or an
 * attempt that died. It starts again with the input that it has. Returns its record, which has ended when its input is
 * no longer kept.
 * @throws PortUnavailable
 */
export function rejoinChild(ports: RoundPorts) {
  const sweeps = sweepsOfMany(ports);
  return async (found: TaskRecord, family: FamilyPlace): Promise<TaskRecord> => {
    if (family.round === 1 && !mayLackMessage(found)) return found;
    const envelope = (await ports.records.loadPart(found, "envelope")) as Envelope | undefined;
    const kept = envelope ?? keptEnvelope(ports, found);
    const { child, lacksMessage } = await intoRound(ports, sweeps, found, family, kept !== undefined);
    const lacks = lacksMessage || (family.round === 1 && mayLackMessage(child));
    if (lacks && kept !== undefined) await dispatch(ports, child, await newestKept(ports, child, kept));
    return child;
  };
}

/** True for a child that has not started: the attempt that created it may have died before it sent the message. */
const mayLackMessage = ({ status, attempts_total }: TaskRecord): boolean =>
  status === "pending" && attempts_total === 0;

async function joinRound(
  ports: RoundPorts,
  sweeps: Sweeps,
  found: TaskRecord,
  input: unknown,
  family: FamilyPlace,
): Promise<TaskRecord> {
  const { child, lacksMessage } = await intoRound(ports, sweeps, found, family, true);
  if (lacksMessage) await dispatch(ports, child, await storedEnvelope(ports, child, input));
  return child;
}

/**
 * Brings a child into the parent's round, unless it has completed.
 * @param canStart False: a child that has ended stays so.
 */
async function intoRound(ports: RoundPorts, sweeps: Sweeps, found: TaskRecord, family: FamilyPlace, canStart: boolean) {
  let child = found;
  while (child.status !== "completed" && (child.family_round ?? family.round) < family.round) {
    const hasEnded = isTerminal(child.status);
    if (hasEnded && !canStart) break;
    if (hasEnded) await sweeps(child);
    const changed = await (hasEnded ? startAgain(ports, child, family) : countInRound(ports, child, family));
    if (changed.record === undefined) break;
    child = changed.record;
  }
  // An earlier attempt of the parent may have died before it sent the message of the child's new round.
  return { child, lacksMessage: child.status === "pending" && child.attempts === 0 && child.round > 1 };
}

/** The fields by which a child's end is counted. */
const countedAt = ({ leaf, place, round }: FamilyPlace) => ({
  family_leaf: leaf,
  family_place: place,
  family_round: round,
});

/** The child as it was read. */
const unchanged = ({ status, round, family_round }: TaskRecord) => ({
  status: { is: status },
  round: { is: round },
  ...(family_round === undefined ? {} : { family_round: { is: family_round } }),
});

/** A child that was replayed by itself, and has not ended: its end counts in this round. */
const countInRound = (ports: RoundPorts, child: TaskRecord, family: FamilyPlace): Promise<Changed> =>
  ports.records.change(child, {
    when: unchanged(child),
    set: { updated_at: iso(ports.clock.now()), ...countedAt(family) },
  });

async function startAgain(ports: RoundPorts, child: TaskRecord, family: FamilyPlace): Promise<Changed> {
  const now = ports.clock.now();
  await extras.beforeRound(ports, child);
  const purgeAt = Math.ceil(now / 1000) + longestQueueLifeSeconds + child.retention_seconds;
  await extras.keepAll(ports, child, purgeAt);
  await storeRound(ports, child, purgeAt);
  const changed = await ports.records.change(child, {
    when: unchanged(child),
    set: {
      status: "pending",
      updated_at: iso(now),
      due_at: iso(now),
      attempts: 0,
      history: [],
      purge_at: purgeAt,
      ...countedAt(family),
    },
    add: { round: 1 },
    remove: [
      ...(["finished_at", "retained_until", "dead_letter_at", "buried_at", "progress"] as const),
      ...(["cancel_requested_at", "expires_at", "start_by"] as const),
      ...endOfRound,
    ],
  });
  if (changed.done) reportChanged(ports, changed.record, "replayed");
  return changed;
}
