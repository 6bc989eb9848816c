import type { Field, TaskRecord } from "../../src/core/model/record.ts";
import { type AttemptOutcome, type Status, transitions } from "../../src/core/model/words.ts";
import type { Core } from "./core.ts";
import type { Invocation } from "./invocation.ts";
import { lostType } from "./plans.ts";

/** One change of a record, as it was applied. */
export interface Seen {
  before: TaskRecord;
  after: TaskRecord;
  from: Invocation;
  /** When the change was asked for, and when it was applied: epoch milliseconds. */
  issuedAt: number;
  nowMs: number;
  /** Who claimed the newest attempt. */
  holder: Invocation | undefined;
}

/** By how much two processes' clocks may differ, in milliseconds. */
const skewMs = 400;

/** What may still change of a task that has ended. */
const afterTheEnd: readonly Field[] = [
  "buried_at",
  "rescued_at",
  "dead_letter_at",
  "retained_until",
  "retention_seconds",
  "purge_at",
  "updated_at",
];

/** Which words of an attempt's outcome go with the status that it left. */
const outcomesOf: { readonly [status in Status]?: readonly AttemptOutcome[] } = {
  completed: ["completed"],
  failed: ["failed", "crashed", "timed_out"],
  pending: ["retried", "crashed", "timed_out"],
  cancelled: ["cancelled"],
};

/** The promises that one change breaks, in words. */
export function brokenLaws(core: Core, seen: Seen): string[] {
  const broken: string[] = [];
  const law = (holds: boolean, text: string) => {
    if (!holds) broken.push(text);
  };
  const { before, after } = seen;
  if (before.status !== after.status) {
    law(transitions[before.status].includes(after.status), `promise 4: ${before.status} became ${after.status}`);
    seenExpired(core, seen, law);
  } else if (core.status.isTerminal(before.status)) {
    const discarded = before.dead_letter_at !== undefined && after.dead_letter_at === undefined;
    law(!discarded || seen.from.kind === "control", `${seen.from.name} took it from the dead letters`);
    const changed = fieldsThatDiffer(before, after).filter((field) => !afterTheEnd.includes(field));
    law(changed.length === 0, `promise 4: ${changed.join(", ")} changed after the end`);
  }
  law(
    after.attempts <= after.max_attempts + (after.closing_from ?? 0),
    `promise 5: attempt ${after.attempts} of ${after.max_attempts}`,
  );
  if (after.priority !== before.priority) movedLaws(core, seen, law);
  law(after.status === "pending" || after.kept_input === undefined, `its record keeps its input while ${after.status}`);
  law(
    after.retrying_in === undefined || (after.status === "pending" && after.retrying_in === after.priority),
    `it counts as retrying in ${after.retrying_in} while ${after.status} in ${after.priority}`,
  );
  law(after.attempts_total >= before.attempts_total, "promise 2: the fence went down");
  if (after.attempts_total > before.attempts_total) claimLaws(core, seen, law);
  else if (before.family_state === "waiting" && before.status === "processing") waitingLaws(seen, law);
  else if (before.status === "processing") processingLaws(core, seen, law);
  else pendingLaws(core, seen, law);
  return broken;
}

/** Only a client moves a task, and only while it waits. */
function movedLaws(core: Core, { before, after, from, issuedAt }: Seen, law: Law): void {
  const was = core.record.statusAt(before, core.record.iso(issuedAt - skewMs));
  const waits = (was === "pending" || was === "scheduled") && after.status === "pending";
  law(from.kind === "control" && waits, `${from.name} moved it to ${after.priority} while it was ${was}`);
}

type Law = (holds: boolean, text: string) => void;

/** What clients have seen as expired stays so. */
function seenExpired(core: Core, { before, after, issuedAt, from }: Seen, law: Law): void {
  const nowIso = core.record.iso(issuedAt - skewMs);
  if (before.status === "pending" && core.record.statusAt(before, nowIso) === "expired") {
    law(after.status === "expired", `promise 4: it had expired, and ${from.name} made it ${after.status}`);
  }
}

function claimLaws(core: Core, { before, after, from, nowMs }: Seen, law: Law): void {
  law(from.kind === "worker", `${from.name} claimed it`);
  law(from.tier === before.priority, `a worker of ${from.tier} claimed it in ${before.priority}`);
  law(before.status === "pending" && after.status === "processing", `promise 2: claimed while ${before.status}`);
  law(
    after.attempts === before.attempts + 1 && after.attempts_total === before.attempts_total + 1,
    "a claim is one attempt",
  );
  law(before.due_at <= core.record.iso(nowMs + skewMs), `claimed before it is due at ${before.due_at}`);
  law(after.waiting_for === undefined, "a running attempt waits");
  law(
    before.history.length === before.attempts,
    `promise 3: ${before.attempts} attempts, ${before.history.length} in the history`,
  );
  law((after.lease_until ?? "") > core.record.iso(nowMs - 20_000), "claimed without a lease");
}

/** A parent that waits for its children has no attempt: the last child's end, or a client, goes on with it. */
function waitingLaws({ before, after }: Seen, law: Law): void {
  law(after.history.length === before.history.length, "promise 3: history without an attempt");
  law(after.lease_until === undefined, "a lease without an attempt");
  law(
    after.status !== "pending" || after.family_state === "closing",
    "a parent waits for an attempt, and not to close",
  );
  if (after.status !== "processing" && after.status !== "cancelled") {
    law(after.family_counts !== undefined, "a family was closed without its numbers");
  }
}

/**
 * A change that others may make while a worker runs the task: a parent's worker or a submit asks for the cancel, as control does, or a child is
 * counted in the parent's new round.
 */
function isOfParent(before: TaskRecord, after: TaskRecord): boolean {
  const changed = fieldsThatDiffer(before, after).filter((field) => field !== "updated_at");
  const ofCancel = ["cancel_requested_at", "cancel_now", "superseded_by"];
  const asksForCancel = changed.every((field) => ofCancel.includes(field));
  // The end of an awaited child tells the attempt to look again.
  const isTold = changed.every((field) => field === "woken_by" || field === "signals");
  const joinsRound = changed.includes("family_round") && changed.every((field) => field.startsWith("family_"));
  return asksForCancel || isTold || joinsRound;
}

function processingLaws(core: Core, seen: Seen, law: Law): void {
  const { before, after, from, nowMs, holder } = seen;
  const leaseOver = Date.parse(before.lease_until ?? "") <= nowMs + skewMs;
  if (from.kind === "control" || isOfParent(before, after)) {
    law(
      after.status === "processing" && after.lease_until === before.lease_until,
      `promise 2: ${from.name} ended an attempt`,
    );
  } else if (from !== holder) {
    law(leaseOver, `promise 2: ${from.name} changed it under the lease of ${holder?.name}`);
    law(after.status !== "processing", `promise 2: ${from.name} is not its worker and kept it`);
  }
  if (after.status === "processing") {
    law(
      (after.progress ?? 0) >= (before.progress ?? 0),
      `progress went down from ${before.progress} to ${after.progress}`,
    );
    const nowWaits = after.family_state === "waiting";
    law(
      after.history.length === before.history.length + (nowWaits ? 1 : 0),
      "promise 3: an attempt in the history that still runs",
    );
    return;
  }
  law(after.lease_until === undefined && after.lease_token === undefined, "a lease without an attempt");
  law(before.cancel_requested_at === undefined || after.status === "cancelled", "a wish to cancel was passed over");
  if (isSuspended(before, after)) suspendedLaws(core, seen, law);
  else endedLaws(before, after, law);
}

/** An attempt ends with its trace in the history. */
function endedLaws(before: TaskRecord, after: TaskRecord, law: Law): void {
  const last = after.history.at(-1);
  const words = outcomesOf[after.status] ?? [];
  law(after.history.length === before.history.length + 1, "promise 3: an attempt ended without a trace");
  law(last?.number === before.attempts && last.round === before.round, "promise 3: another attempt's trace");
  law(
    last !== undefined && words.includes(last.outcome),
    `promise 3: ${after.status} with the outcome ${last?.outcome}`,
  );
}

/** True for the change that suspends an attempt: it leaves no trace in the history. */
export const isSuspended = (before: TaskRecord, after: TaskRecord): boolean =>
  before.status === "processing" &&
  before.family_state !== "waiting" &&
  after.status === "pending" &&
  after.history.length === before.history.length;

function suspendedLaws(core: Core, { before, after, from, nowMs, holder }: Seen, law: Law): void {
  law(from === holder, `promise 2: ${from.name} suspended the attempt of ${holder?.name}`);
  law(after.attempts === before.attempts - 1, "a suspended attempt counts");
  const { waiting_for: waitingFor, due_at } = after;
  // Its worker does not know the type, and puts it back for a while.
  const mostMs = after.type === lostType ? 20_000 : 0;
  if (waitingFor === undefined)
    law(due_at <= core.record.iso(nowMs + mostMs + skewMs), `it waits for nothing until ${due_at}`);
  else if (core.suspension.isSuspended(waitingFor)) {
    // A task that waits for children looks at them by itself a day later.
    const looks = "children" in waitingFor && due_at <= (waitingFor.until ?? "9");
    law(looks || waitingFor.until === due_at, `it waits until ${waitingFor.until}, and is due at ${due_at}`);
  } else law(false, `a suspended attempt waits for ${waitingFor.kind}`);
  law(after.purge_at * 1000 > Date.parse(due_at) + 14 * 86_400_000, "its record ends soon after its wait");
}

function pendingLaws(core: Core, { before, after, nowMs }: Seen, law: Law): void {
  if (after.round !== before.round) {
    const ofFamily = (after.family_round ?? 0) > (before.family_round ?? 0) && before.status !== "completed";
    law(
      (before.status === "failed" || ofFamily) && after.status === "pending",
      `promise 4: a new round of a task that was ${before.status}`,
    );
    law(
      after.round === before.round + 1 && after.attempts === 0 && after.history.length === 0,
      "a new round starts anew",
    );
    law(after.dead_letter_at === undefined && after.buried_at === undefined, "a new round leaves the dead letters");
    return;
  }
  law(before.status !== "failed" || after.status === "failed", "promise 4: a failed task is back in the same round");
  law(after.history.length === before.history.length, "promise 3: history without an attempt");
  if (after.status === "expired" && before.status !== "expired") {
    law(
      (before.start_by ?? "9") <= core.record.iso(nowMs + skewMs) && before.attempts_total === 0,
      "expired before its time",
    );
  }
}

function fieldsThatDiffer(a: TaskRecord, b: TaskRecord): Field[] {
  const fields = new Set([...Object.keys(a), ...Object.keys(b)] as Field[]);
  return [...fields].filter((field) => a[field] !== b[field] && JSON.stringify(a[field]) !== JSON.stringify(b[field]));
}
