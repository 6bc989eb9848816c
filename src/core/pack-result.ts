import { PermanentError } from "./errors.ts";
import type { ResultReference, TaskRecord } from "./record.ts";
import { FileResult, largestResultBytes, OutcomeResult, recordResultBytes } from "./result.ts";
import type { TaskType } from "./task.ts";

export interface Packed {
  ok: true;
  outcome: string | undefined;
  inline?: unknown;
  part?: unknown;
  reference?: ResultReference;
}

/** Decides where a result is stored. A result that is too large, or does not fit the type's schema, fails the attempt. */
export function packResult(
  record: TaskRecord,
  type: TaskType | undefined,
  value: unknown,
): Packed | { ok: false; error: Error } {
  const outcome = value instanceof OutcomeResult ? value.outcome : undefined;
  const result = value instanceof OutcomeResult ? value.result : value;
  const part = record.attempts_total;
  if (result instanceof FileResult) {
    const bytes = result.bytes.byteLength;
    if (bytes > largestResultBytes) return tooLarge(bytes);
    const reference = { part, bytes, content_type: result.contentType, file_name: result.fileName };
    return { ok: true, outcome, part: result.bytes, reference };
  }
  const misfit = misfitOf(type, result);
  if (misfit !== undefined) return { ok: false, error: misfit };
  const text = jsonText(result);
  if (text === undefined) return { ok: false, error: new PermanentError("the result cannot be serialised as JSON") };
  const bytes = Buffer.byteLength(text);
  if (bytes > largestResultBytes) return tooLarge(bytes);
  const json: unknown = JSON.parse(text);
  if (bytes <= recordResultBytes) return { ok: true, outcome, inline: json };
  return { ok: true, outcome, part: text, reference: { part, bytes, content_type: "application/json" } };
}

/** The error of a result that does not fit its type's schema, or whose schema throws. */
function misfitOf(type: TaskType | undefined, result: unknown): PermanentError | undefined {
  try {
    const issue = type?.output?.safeParse(result).error?.issues[0];
    return issue && new PermanentError(`${["result", ...issue.path].join(".")}: ${issue.message}`);
  } catch (cause) {
    return new PermanentError("the result could not be checked: its schema threw an error", { cause });
  }
}

const tooLarge = (bytes: number) => ({
  ok: false as const,
  error: new PermanentError(
    `the result has ${bytes} bytes; the limit is ${largestResultBytes} (300 KiB): write it to S3 and return its key`,
  ),
});

/** JSON text of a value; undefined becomes null. Returns undefined when the value cannot be serialised. */
function jsonText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value ?? null);
  } catch {
    return undefined;
  }
}
