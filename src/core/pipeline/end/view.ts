import { isMediaType } from "../../../util/media-type.ts";
import type { ErrorKind } from "../../model/errors.ts";
import { addCounts, type Counts, countsOf, endedOf, noCounts } from "../../model/family-node.ts";
import { Problem } from "../../model/problem.ts";
import { type Attempt, iso, type ResultReference, statusAt, type TaskRecord } from "../../model/record.ts";
import { isSuspended } from "../../model/suspension.ts";
import { type ChildrenView, type OnFailedView, type TaskView, taskView } from "../../model/task-view.ts";
import { type AttemptOutcome, isTerminal } from "../../model/words.ts";
import type { Blobs } from "../../ports/blob.ts";
import type { Families } from "../../ports/family.ts";
import type { Clock, Records } from "../../ports/tasks.ts";
import { inlineResultBytes } from "../../task/result.ts";
import { withStacks } from "../send/parts.ts";
import { familyOf, leafOf } from "./child-results.ts";

/**
 * The progress of a task. Of a sealed family it is the share that has ended, but not less than its handler reported
 * before; an attempt that aggregates, which may spawn children again, comes after all. So it never goes back.
 */
function progressOf(record: TaskRecord, children: ChildrenView | undefined): number | null {
  const { progress = null, closing_from: closingFrom } = record;
  if (children === undefined) return progress;
  if (closingFrom !== undefined) return 100;
  if (!children.sealed) return progress;
  return Math.max(progress ?? 0, Math.floor(((children.total - children.open) / children.total) * 100));
}

/** Reads the numbers of a task's children. Undefined: the task has none. */
export async function childrenOf(ports: { families: Families }, record: TaskRecord): Promise<ChildrenView | undefined> {
  const { family_state: state, family_total: total } = record;
  if (total === undefined) return undefined;
  const counts = await presentCounts(ports, record);
  const { completed, failed, cancelled, expired } = counts;
  const open = Math.max(0, total - endedOf(counts));
  const sealed = state === "waiting" || state === "closing" || record.status === "completed";
  return { total, open, completed, failed, cancelled, expired, sealed };
}

const orNull = <T>(value: T | undefined): T | null => value ?? null;

/**
 * The result of a record. A result of `aggregate` is stored before the children that it spawned have ended, and does
 * not count until then.
 */
const resultIn = (record: TaskRecord): Pick<TaskRecord, "outcome" | "result" | "result_ref"> =>
  record.family_aggregated === true && record.status !== "completed" ? {} : record;

/** The parts of a view that are not in the record. */
interface Beside {
  /** The result, if it is stored beside the record. */
  beside?: unknown;
  children?: ChildrenView | undefined;
  onFailed?: OnFailedView | null;
}

/** The task that runs the `onFailed` of a failed task. Null: there is none, or it has not started. */
export async function onFailedOf(ports: ViewPorts, record: TaskRecord): Promise<OnFailedView | null> {
  if (record.on_failed_attempts === undefined || record.status !== "failed") return null;
  return (await import("./on-failed-of.ts")).readOnFailed(ports, record);
}

/** The client's view of a record at a given time. */
export function viewOf(
  record: TaskRecord,
  nowIso: string,
  { beside, children, onFailed = null }: Beside = {},
): TaskView {
  const status = statusAt(record, nowIso);
  const { outcome, result, result_ref } = resultIn(record);
  const isApart = result_ref !== undefined && beside === undefined;
  const finishedAt = status === "expired" ? record.expires_at : record.finished_at;
  const waitingFor = status === "pending" ? record.waiting_for : undefined;
  return taskView(record, {
    status,
    progress: status === "completed" ? 100 : progressOf(record, children),
    // A suspended attempt has started.
    attempts: record.attempts + (isSuspended(waitingFor) ? 1 : 0),
    finished_at: orNull(finishedAt),
    next_attempt_at: status === "pending" && record.attempts > 0 && waitingFor === undefined ? record.due_at : null,
    waiting_for: orNull(waitingFor),
    outcome: orNull(outcome),
    result: orNull(result_ref === undefined ? result : beside),
    result_url: isApart || record.acknowledged_at !== undefined ? `/tasks/${record.task_id}/result` : null,
    children: children ?? null,
    on_failed: onFailed,
  });
}

export interface ViewPorts {
  records: Records;
  families: Families;
  clock: Clock;
}

/** The view of one task, with its result if it is small enough for the answer. */
export async function viewTask(ports: ViewPorts, record: TaskRecord): Promise<TaskView> {
  const nowIso = iso(ports.clock.now());
  const [children, onFailed] = await Promise.all([childrenOf(ports, record), onFailedOf(ports, record)]);
  const reference = record.result_ref;
  if (record.status !== "completed" || reference === undefined || !isInline(reference))
    return viewOf(record, nowIso, { children, onFailed });
  const text = await ports.records.loadPart(record, `result#${reference.part}`);
  return viewOf(record, nowIso, { beside: typeof text === "string" ? JSON.parse(text) : null, children });
}

/** True when the status answer contains the result: not that of a file, of an encrypted result, or of large JSON. */
const isInline = ({ file_name, content_type, bytes, blob }: ResultReference): boolean =>
  file_name === undefined && content_type === "application/json" && bytes <= inlineResultBytes && blob === undefined;

/** Seconds before the next poll: a tenth of the task's age, from 1 to 60, so that it never falls as the task ages. */
export const pollAfterSeconds = (record: TaskRecord, nowMs: number): number =>
  Math.min(60, Math.max(1, Math.floor((nowMs - Date.parse(record.created_at)) / 10_000)));

/** One attempt as clients see it. */
export interface AttemptView {
  round: number;
  number: number;
  started_at: string;
  finished_at: string;
  duration_ms: number;
  outcome: AttemptOutcome;
  error: string | null;
  error_type: string | null;
  error_kind: ErrorKind | null;
  next_attempt_at: string | null;
  /**
   * Places of the error and its causes in the sources. Null: there is no error with a place, or the type is sensitive.
   * Absent: the caller is not an operator.
   */
  stack?: string | null | undefined;
}

/** @param forOperator True to add the stack. */
export const attemptView = (attempt: Attempt, forOperator: boolean): AttemptView => ({
  round: attempt.round,
  number: attempt.number,
  started_at: attempt.started_at,
  finished_at: attempt.finished_at,
  duration_ms: Date.parse(attempt.finished_at) - Date.parse(attempt.started_at),
  outcome: attempt.outcome,
  error: attempt.error ?? null,
  error_type: attempt.error_type ?? null,
  error_kind: attempt.error_kind ?? null,
  next_attempt_at: attempt.next_attempt_at ?? null,
  ...(forOperator && { stack: attempt.stack ?? null }),
});

/**
 * Every finished attempt of a task, oldest first. Earlier rounds are stored beside the record.
 * @param stacks True to read all stacks: each that is not the newest of its round is stored beside the record, too.
 */
export async function attemptsOf(
  ports: { records: Records },
  record: TaskRecord,
  { stacks }: { stacks: boolean },
): Promise<Attempt[]> {
  const whole = (attempts: Attempt[]) => (stacks ? withStacks(ports, record, attempts) : attempts);
  const earlier: Attempt[] = [];
  for (let round = 1; round < record.round; round++) {
    const attempts = (await ports.records.loadPart(record, `round#${round}`)) as Attempt[] | undefined;
    earlier.push(...(await whole(attempts ?? [])));
  }
  return [...earlier, ...(await whole(record.history))];
}

/** A task's result: JSON text, a file's bytes, or the URL or path under which it is. */
export type ServedResult =
  | {
      body: string | Uint8Array;
      contentType: string;
      /** Absent for JSON. */
      fileName?: string;
    }
  | { location: string };

/** Longest time for which the URL of a stored result works, in seconds. */
const resultUrlSeconds = 900;

export interface ResultPorts {
  records: Records;
  clock: Clock;
  blobs: Pick<Blobs, "presignGet">;
}

/** The error of a task that failed, as its own status shows it. */
const whyOf = ({ error, error_kind }: TaskRecord): string =>
  error_kind === undefined ? "" : `, ${error_kind}${error === undefined ? "" : `: ${error.replace(/[.\s]+$/, "")}`}`;

/**
 * Returns the bare result of a completed task; undefined while the task is not terminal.
 * @throws Problem `conflict` when the task ended in another status, `gone` when the result was deleted
 */
export async function resultOf(ports: ResultPorts, record: TaskRecord): Promise<ServedResult | undefined> {
  const status = statusAt(record, iso(ports.clock.now()));
  if (!isTerminal(status)) return undefined;
  if (status !== "completed") {
    throw new Problem("conflict", `The task has no result: it is ${status}${whyOf(record)}.`, {
      extra: {
        task_status: status,
        error: record.error ?? null,
        error_type: record.error_type ?? null,
        error_kind: record.error_kind ?? null,
      },
    });
  }
  const { acknowledged_at, location, result_ref } = record;
  if (acknowledged_at !== undefined) throw gone("it was acknowledged");
  if (location !== undefined) return { location };
  if (result_ref === undefined) {
    return { body: JSON.stringify(record.result ?? null), contentType: "application/json" };
  }
  return result_ref.blob === undefined
    ? partResult(ports, record, result_ref)
    : { location: await blobUrl(ports, record, result_ref.blob, result_ref) };
}

async function partResult(ports: ResultPorts, record: TaskRecord, reference: ResultReference): Promise<ServedResult> {
  const { part, content_type: contentType, file_name: fileName } = reference;
  const body = await ports.records.loadPart(record, `result#${part}`);
  if (typeof body !== "string" && !(body instanceof Uint8Array)) throw gone("its retention has ended");
  return { body, contentType: servedType(contentType), ...(fileName === undefined ? {} : { fileName }) };
}

/** A result of an earlier version may have a media type that no header can have. */
const servedType = (contentType: string): string =>
  isMediaType(contentType) ? contentType : "application/octet-stream";

/** Signs the URL of a stored result. It ends with the retention at the latest. */
function blobUrl(
  { blobs, clock }: ResultPorts,
  record: TaskRecord,
  key: string,
  { content_type: contentType, file_name: fileName }: ResultReference,
): Promise<string> {
  const secondsLeft = Math.floor(record.purge_at - clock.now() / 1000);
  const expiresSeconds = Math.max(1, Math.min(resultUrlSeconds, secondsLeft));
  return blobs.presignGet(key, { expiresSeconds, contentType: servedType(contentType), fileName });
}

const gone = (why: string) => new Problem("gone", `The result was deleted: ${why}.`);

interface CountPorts {
  families: Families;
}

/** Counts of a family as far as they are known: of full leaves, and of leaves that are not full. */
async function presentCounts(ports: CountPorts, parent: TaskRecord): Promise<Counts> {
  if (parent.family_counts !== undefined) return parent.family_counts;
  if (parent.family_root === undefined) return countsOfOpenFamily(ports, parent);
  const root = await ports.families.read(parent, parent.family_root);
  if (root?.below === undefined) return root === undefined ? noCounts : countsOf(root);
  const open = root.below.filter((_, place) => root.ended[place] === undefined);
  const nodes = await Promise.all(open.map((name) => ports.families.read(parent, name)));
  return nodes.map((node) => (node === undefined ? noCounts : countsOf(node))).reduce(addCounts, countsOf(root));
}

/**
 * Leaves of a family that is not sealed which are read for its counts. The counts of the other leaves are missing
 * there.
 */
const maxOpenLeaves = 100;

/** Counts of a family whose handler still spawns, or sleeps. */
async function countsOfOpenFamily({ families }: CountPorts, parent: TaskRecord): Promise<Counts> {
  const pages = await families.pages(familyOf(parent), 0, maxOpenLeaves);
  const nodes = await Promise.all(pages.map(({ number }) => families.read(parent, leafOf(parent, number))));
  return nodes
    .map((node, index) => {
      const members = "1".repeat(pages[index]?.keys.length ?? 0);
      return countsOf({ ended: node?.ended ?? {}, members, round: parent.round });
    })
    .reduce(addCounts, noCounts);
}
