import type { ErrorKind } from "../core/errors.ts";
import { type Attempt, iso, statusAt, type TaskKey, type TaskRecord } from "../core/record.ts";
import { FileResult, type OutcomeResult } from "../core/result.ts";
import type { Status } from "../core/status.ts";
import { attemptsOf, resultOf } from "../core/view.ts";
import type { LogLine, Submitted, Track } from "./track.ts";
import type { World } from "./world.ts";

/** One attempt of a task in a test. */
export interface AttemptReport {
  /** The attempt's number in its round, from 1. */
  number: number;
  outcome: Attempt["outcome"];
  /** How long it took, in seconds of the kit's time: what a handler does for real takes none. */
  seconds: number;
  error: string | undefined;
  errorType: string | undefined;
  errorKind: ErrorKind | undefined;
  /** How long the task then waits, in seconds. Undefined: no attempt follows. */
  waitSeconds: number | undefined;
  /** What the handler reported, in order. */
  progress: readonly number[];
  /** The calls it made to the table, the queues and the scheduler, in order: the steps that a fault can name. */
  steps: readonly string[];
}

/** A task that a handler submitted, and what became of it if the kit has its type. */
export interface ChildReport extends Submitted {
  outcome: Outcome | undefined;
}

/** What became of a task. */
export interface Outcome<Result = unknown> {
  taskId: string;
  status: Status;
  /** What clients get: the JSON value, or the file. Undefined: the task did not complete. */
  result: Result | undefined;
  /** The task's own word for how it ended, from `withOutcome`. */
  outcome: string | undefined;
  /** Of the last failed attempt; undefined once one has completed. */
  error: string | undefined;
  errorType: string | undefined;
  errorKind: ErrorKind | undefined;
  /** Whether a person should look, as the failure was a rule of the business. */
  needsReview: boolean;
  /** Whether the task is a dead letter. */
  deadLetter: boolean;
  attempts: readonly AttemptReport[];
  /** What the handler reported in its last attempt, in order. */
  progress: readonly number[];
  /** The tasks that the handler submitted, each once, however many attempts submitted it. */
  submitted: readonly ChildReport[];
  /** What the handler logged, over all attempts. */
  log: readonly LogLine[];
  /** From submit to the end, in seconds of the kit's time: delays, waits and leases of dead workers included. */
  seconds: number;
}

/** What a client gets for what a handler returned. */
export type ResultOf<Returned> = Returned extends OutcomeResult ? unknown : Returned;

/** Puts together what became of a task, and of those that it submitted. */
export async function outcomeOf(world: World, key: TaskKey): Promise<Outcome> {
  const record = await world.records.get(key);
  if (record === undefined) throw new Error(`the test kit has no task ${key.task_id}`);
  const track = world.track(key);
  const attempts = (await attemptsOf(world, record)).map((attempt, index) => reportOf(track, attempt, index + 1));
  return {
    taskId: record.task_id,
    status: statusAt(record, iso(world.clock.now())),
    result: await servedResult(world, record),
    outcome: record.outcome,
    error: record.error,
    errorType: record.error_type,
    errorKind: record.error_kind,
    needsReview: record.needs_review === true,
    deadLetter: record.dead_letter_at !== undefined,
    attempts,
    progress: attempts.at(-1)?.progress ?? [],
    submitted: await childrenOf(world, track),
    log: track.lines,
    seconds: secondsBetween(record.created_at, record.finished_at ?? record.start_by ?? record.updated_at),
  };
}

/** @param overall The attempt's number over all rounds, by which it was tracked. */
const reportOf = (track: Track, attempt: Attempt, overall: number): AttemptReport => ({
  number: attempt.number,
  outcome: attempt.outcome,
  seconds: secondsBetween(attempt.started_at, attempt.finished_at),
  error: attempt.error,
  errorType: attempt.error_type,
  errorKind: attempt.error_kind,
  waitSeconds:
    attempt.next_attempt_at === undefined ? undefined : secondsBetween(attempt.finished_at, attempt.next_attempt_at),
  progress: track.progressOf(overall),
  steps: track.stepsOf(overall),
});

const secondsBetween = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / 1000;

async function servedResult(world: World, record: TaskRecord): Promise<unknown> {
  const served = record.status === "completed" ? await resultOf(world, record) : undefined;
  if (served === undefined) return undefined;
  if (typeof served.body === "string") return JSON.parse(served.body);
  return new FileResult(served.body, served.contentType, served.fileName ?? "");
}

function childrenOf(world: World, track: Track): Promise<ChildReport[]> {
  const children = [...track.submitted.values()].map(async (child) => {
    const key = { tenant_id: track.key.tenant_id, task_id: child.taskId };
    const ran = (await world.records.get(key)) !== undefined;
    return { ...child, outcome: ran ? await outcomeOf(world, key) : undefined };
  });
  return Promise.all(children);
}
