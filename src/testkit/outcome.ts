import type { ErrorKind } from "../core/model/errors.ts";
import {
  type Attempt,
  iso,
  type ResultReference,
  statusAt,
  type TaskKey,
  type TaskRecord,
} from "../core/model/record.ts";
import { noteView } from "../core/model/task-view.ts";
import type { Status } from "../core/model/words.ts";
import { onFailedId } from "../core/pipeline/end/on-failed-of.ts";
import { attemptsOf, resultOf } from "../core/pipeline/end/view.ts";
import { FileResult, type OutcomeResult } from "../core/task/result.ts";
import type { MemoryStores } from "../memory/stores.ts";
import { timelineOf } from "./timeline.ts";
import type { LogLine, Submitted, Track } from "./track.ts";
import type { World } from "./world.ts";

/** One attempt of a task in a test. */
export interface AttemptReport {
  /** Number of the attempt in its round, from 1. */
  number: number;
  outcome: Attempt["outcome"];
  /** Duration in seconds of the kit's time. Work that the handler really does takes no time of the kit. */
  seconds: number;
  error: string | undefined;
  errorType: string | undefined;
  errorKind: ErrorKind | undefined;
  /** Places of the error and its causes. Undefined: there is no error with a place, or the type is sensitive. */
  stack: string | undefined;
  /** Wait until the next attempt, in seconds. Undefined: there is no next attempt. */
  waitSeconds: number | undefined;
  /** The progress that the handler reported, in order. */
  progress: readonly number[];
  /** The attempt's steps, in order: see `Fault`. A fault names a step by its position, from 1, or by its name. */
  steps: readonly string[];
}

/** A task that a handler submitted. */
export interface ChildReport extends Submitted {
  /** Undefined: the kit does not have the task's type, so the task was not run. */
  outcome: Outcome | undefined;
}

/** A child that a handler spawned, with its outcome. */
export interface SpawnedChild extends Outcome {
  type: string;
  /** The key that it was spawned with. Default: its number, from 0. */
  key: string;
  input: unknown;
}

/** The state of a task at the end of a test. */
export interface Outcome<Result = unknown> {
  taskId: string;
  status: Status;
  /** The result as clients get it: the JSON value, or the file. Undefined: the task did not complete. */
  result: Result | undefined;
  /** The word that the handler gave to `withOutcome`. Undefined: it gave none. */
  outcome: string | undefined;
  /** Error of the last failed attempt. Undefined: no attempt failed, or the task has completed. */
  error: string | undefined;
  errorType: string | undefined;
  errorKind: ErrorKind | undefined;
  /** True when a person should look at the task, because the handler threw `BusinessRuleViolation`. */
  needsReview: boolean;
  /** True when the task is a dead letter. */
  deadLetter: boolean;
  attempts: readonly AttemptReport[];
  /** The progress that the handler reported in its last attempt, in order. */
  progress: readonly number[];
  /** The message of the progress, as clients get it. Undefined: the last attempt reported none. */
  progressMessage: string | undefined;
  /** The data of the progress, as clients get it. Undefined: the last attempt reported none. */
  progressData: unknown;
  /** The tasks that the handler submitted. A task that several attempts submitted is listed once. */
  submitted: readonly ChildReport[];
  /**
   * The children that the handler spawned, in the order of their spawn. A child that several attempts spawned is listed
   * once.
   */
  children: readonly SpawnedChild[];
  /** The outcome of the type's `onFailed` for the round that failed. Undefined: it did not run. */
  onFailed: Outcome | undefined;
  /** The handler's log lines of all attempts. */
  log: readonly LogLine[];
  /** Time from the submit to the end, in seconds of the kit's time, with delays, waits and leases of dead workers. */
  seconds: number;
  /**
   * Everything that happened, as text for people: print it when a test fails. Its times are the kit's, in seconds from
   * the submit.
   */
  timeline: string;
}

/** Type of a task's result, from the type of the handler's return value. */
export type ResultOf<Returned> = Returned extends OutcomeResult ? unknown : Returned;

/** Builds the outcome of a task and of the tasks that it submitted. */
export async function outcomeOf(world: World, key: TaskKey): Promise<Outcome> {
  const record = await world.stores.records.get(key);
  if (record === undefined) throw new Error(`The test kit has no task ${key.task_id}.`);
  const track = world.track(key);
  const stored = await attemptsOf(world.stores, record, { stacks: true });
  const attempts = stored.map((attempt, index) => reportOf(track, attempt, index + 1));
  const status = statusAt(record, iso(world.clock.now()));
  const note = noteView(record);
  return {
    taskId: record.task_id,
    status,
    result: await servedResult(world, record),
    outcome: record.outcome,
    error: record.error,
    errorType: record.error_type,
    errorKind: record.error_kind,
    needsReview: record.needs_review === true,
    deadLetter: record.dead_letter_at !== undefined,
    attempts,
    progress: attempts.at(-1)?.progress ?? [],
    progressMessage: note.progress_message ?? undefined,
    progressData: note.progress_data ?? undefined,
    submitted: await submittedOf(world, track),
    children: await childrenOf(world, track),
    onFailed: await onFailedOf(world, record),
    log: track.lines,
    seconds: secondsBetween(record.created_at, record.finished_at ?? record.start_by ?? record.updated_at),
    timeline: timelineOf(track, record, status, stored),
  };
}

/** @param overall Number of the attempt over all rounds, from 1. */
const reportOf = (track: Track, attempt: Attempt, overall: number): AttemptReport => ({
  number: attempt.number,
  outcome: attempt.outcome,
  seconds: secondsBetween(attempt.started_at, attempt.finished_at),
  error: attempt.error,
  errorType: attempt.error_type,
  errorKind: attempt.error_kind,
  stack: attempt.stack,
  waitSeconds:
    attempt.next_attempt_at === undefined ? undefined : secondsBetween(attempt.finished_at, attempt.next_attempt_at),
  progress: track.progressOf(overall),
  steps: track.stepsOf(overall).map(({ name }) => name),
});

const secondsBetween = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / 1000;

async function servedResult(world: World, record: TaskRecord): Promise<unknown> {
  if (record.status !== "completed") return undefined;
  // The kit returns the result itself, also when clients are sent to another place.
  const { location: _, ...own } = record;
  const served = await resultOf({ ...world.stores, blobs: { presignGet: async (key) => key } }, own);
  if (served === undefined) return undefined;
  if ("location" in served) return storedResult(world.stores, served.location, own.result_ref);
  if (typeof served.body === "string") return JSON.parse(served.body);
  return new FileResult(served.body, served.contentType, served.fileName);
}

/** A result in the bucket: a file, or JSON, which has no file name. */
async function storedResult({ blobs }: MemoryStores, key: string, reference?: ResultReference): Promise<unknown> {
  const stored = await blobs.read(key);
  if (stored === undefined) return undefined;
  const chunks: Uint8Array[] = [];
  for await (const chunk of stored.bytes) chunks.push(chunk);
  const whole = Buffer.concat(chunks);
  const { file_name } = reference ?? {};
  return file_name === undefined
    ? JSON.parse(whole.toString("utf8"))
    : new FileResult(new Uint8Array(whole), stored.contentType, file_name);
}

function submittedOf(world: World, track: Track): Promise<ChildReport[]> {
  const children = [...track.submitted.values()].map(async (child) => {
    const key = { tenant_id: track.key.tenant_id, task_id: child.taskId };
    const ran = (await world.stores.records.get(key)) !== undefined;
    return { ...child, outcome: ran ? await outcomeOf(world, key) : undefined };
  });
  return Promise.all(children);
}

async function onFailedOf(world: World, record: TaskRecord): Promise<Outcome | undefined> {
  const key = { tenant_id: record.tenant_id, task_id: onFailedId(record) };
  if (record.status !== "failed" || (await world.stores.records.get(key)) === undefined) return undefined;
  return outcomeOf(world, key);
}

async function childrenOf(world: World, { key: { tenant_id }, spawned }: Track): Promise<SpawnedChild[]> {
  const children: SpawnedChild[] = [];
  for (const { taskId: task_id, ...child } of spawned.values()) {
    // An attempt that died may have left a child that it had not created.
    if ((await world.stores.records.get({ tenant_id, task_id })) === undefined) continue;
    children.push({ ...child, ...(await outcomeOf(world, { tenant_id, task_id })) });
  }
  return children;
}
