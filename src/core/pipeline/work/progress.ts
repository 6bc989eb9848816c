import { inShort } from "../../../util/foreign-value.ts";
import { PermanentError } from "../../model/errors.ts";
import { fence } from "../../model/lease.ts";
import { iso, type ProgressNote, type TaskRecord } from "../../model/record.ts";
import type { EndPorts } from "../../ports/extra.ts";
import type { ProgressDetails } from "../../task/context.ts";
import type { Redact } from "../../task/handler-log.ts";
import { jsonText } from "../../task/json-value.ts";
import * as extras from "../send/extras.ts";

/** Most characters of a message; the rest is cut off. */
const mostCharacters = 200;

/** Most bytes of the data, as JSON. */
const mostDataBytes = 1024;

/** The message and the data of a report, as they are stored. */
type Details = Pick<ProgressNote, "message" | "data">;

/** Writes an attempt's progress to its record. */
export interface ProgressWriter {
  /** Takes 0 to 100; a lower value than the last one is ignored, but for its details. */
  report(percent: number, details: Details | undefined): void;
  /** Stops writing, when the last details are written; resolves when the last write has ended. */
  close(): Promise<void>;
}

/**
 * Checks the details of a report.
 * @param redact Removes what a sensitive type keeps secret. Undefined: the type is not sensitive.
 * @throws PermanentError
 */
export function detailsOf(given: ProgressDetails, redact: Redact | undefined): Details {
  const { message, data } = (given ?? {}) as { message?: unknown; data?: unknown };
  if (typeof given !== "object" || Array.isArray(given) || (message !== undefined && typeof message !== "string")) {
    const what = typeof given === "object" && !Array.isArray(given) ? `message ${inShort(message)}` : inShort(given);
    throw new PermanentError(`task.progress: expected { message: "a text", data } behind the percentage, got ${what}`);
  }
  const text = message === undefined ? undefined : (redact?.(message) ?? message).toWellFormed();
  return {
    ...(text !== undefined && { message: [...text.slice(0, 2 * mostCharacters)].slice(0, mostCharacters).join("") }),
    ...(redact === undefined && dataOf(data)),
  };
}

function dataOf(value: unknown): Pick<Details, "data"> {
  const what = "the data of task.progress";
  const { text: data } = jsonText(value, what, "data");
  if (data === undefined) return {};
  const bytes = Buffer.byteLength(data);
  if (bytes <= mostDataBytes) return { data };
  throw new PermanentError(`${what} has ${bytes} bytes as JSON, of at most ${mostDataBytes}`);
}

/** Writes progress at most once a second: the first report immediately, later ones at the end of their second. */
export function progressWriter(
  ports: EndPorts,
  record: TaskRecord,
  onCancelled: (record: TaskRecord) => void,
): ProgressWriter {
  let highest = -1;
  let written = -1;
  let details: Details | undefined;
  let writtenDetails: Details | undefined;
  let writing: Promise<void> | undefined;
  let stopTimer: (() => void) | undefined;
  const write = async (): Promise<void> => {
    written = highest;
    writtenDetails = details;
    const note = details && { progress_note: { attempt: record.attempts_total, ...details } };
    const changed = await ports.records
      .change(record, {
        // A slow write must not undo a faster write that followed it.
        when: { ...fence(record), progress: { atMost: written, orAbsent: true } },
        set: { progress: written, ...note, updated_at: iso(ports.clock.now()) },
      })
      .catch(() => undefined);
    if (changed?.done !== true) return;
    if (changed.record.cancel_requested_at !== undefined) onCancelled(changed.record);
    await extras.changed(ports, changed.record, "progress");
  };
  const isNew = () => highest > written || details !== writtenDetails;
  // Writes of one percentage are not ordered by their condition.
  const writeNew = () => (details === undefined ? write() : (writing ?? Promise.resolve()).then(write));
  const flush = () => {
    stopTimer = undefined;
    if (!isNew()) return;
    writing = writeNew();
    stopTimer = ports.clock.after(1000, flush);
  };
  return {
    report(percent, given) {
      const whole = Math.floor(Math.min(100, Math.max(0, percent)));
      if (Number.isNaN(whole)) return;
      highest = Math.max(whole, highest);
      if (given !== undefined) details = { ...details, ...given };
      if (isNew() && stopTimer === undefined) flush();
    },
    async close() {
      stopTimer?.();
      if (details === writtenDetails) highest = written;
      else writing = writeNew();
      await writing;
    },
  };
}
