import type { Attempt, TaskRecord } from "../core/model/record.ts";
import { firstPlaceIn } from "../core/model/stack.ts";
import type { Status } from "../core/model/words.ts";
import type { Step, Track } from "./track.ts";

/** Writes what happened to a task: one line for each step, and for the start and the end of each attempt. */
export function timelineOf(track: Track, record: TaskRecord, status: Status, attempts: readonly Attempt[]): string {
  const startMs = Date.parse(record.created_at);
  const at = (timeMs: number, text: string) => `${((timeMs - startMs) / 1000).toFixed(1).padStart(7)} s  ${text}`;
  const lines = attempts.flatMap((attempt, index) => [
    at(Date.parse(attempt.started_at), `attempt ${index + 1}`),
    ...track.stepsOf(index + 1).map((step, stepIndex) => at(step.atMs, `  ${stepText(step, stepIndex + 1)}`)),
    at(Date.parse(attempt.finished_at), `  => ${endText(attempt)}`),
  ]);
  return [`${record.type}: ${status}`, at(startMs, "submitted"), ...lines].join("\n");
}

const stepText = ({ name, fields, fault }: Step, number: number): string =>
  `${String(number).padStart(2)} ${name}${fieldsText(fields)}${fault === undefined ? "" : `  <= ${fault.how}`}`;

/** The fields of a log line as JSON. Fields that have no JSON, such as an object that contains itself, are left out. */
function fieldsText(fields: Record<string, unknown> = {}): string {
  try {
    const text = JSON.stringify(fields);
    return text === "{}" ? "" : ` ${text}`;
  } catch {
    return "";
  }
}

/** The end of an attempt, its error, and the wait after it. */
function endText({ outcome, error, error_kind, stack, finished_at, next_attempt_at }: Attempt): string {
  const place = firstPlaceIn(stack);
  const at = place === undefined ? "" : ` at ${place}`;
  const why = error === undefined ? "" : ` (${error_kind}): ${error}${at}`;
  if (next_attempt_at === undefined) return `${outcome}${why}`;
  const waitSeconds = (Date.parse(next_attempt_at) - Date.parse(finished_at)) / 1000;
  return `${outcome}${why}; next attempt after ${waitSeconds} s`;
}
