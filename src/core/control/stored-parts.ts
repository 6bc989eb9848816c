import type { Envelope } from "../model/envelope.ts";
import type { TaskRecord } from "../model/record.ts";
import { keptText } from "../pipeline/send/kept-input.ts";
import { storedInput } from "../pipeline/send/large-input.ts";
import type { Blobs } from "../ports/blob.ts";
import type { StepEntry, StepStore } from "../ports/steps.ts";
import type { Records } from "../ports/tasks.ts";
import { AnswerRoom } from "./list.ts";

/** Larger results of steps are not shown. Bytes of JSON. */
const largestShownBytes = 16 * 1024;

/** The most entries that are shown. */
const maxEntries = 1_000;

/** A stored entry of a task as clients see it: names and order of the fields are part of the API. */
export interface StepView {
  kind: StepEntry["kind"];
  name: string;
  /** Number of the handler's call, from 1. Null: the handler did not make it. */
  order: number | null;
  /** End of a sleep, time at which a wait times out, or start of a step's next attempt. */
  until: string | null;
  /** Time at which a signal came. Null: the entry is no signal, or none came. */
  at: string | null;
  timed_out: boolean;
  /** Number of the attempt that stored a state, over all rounds. */
  attempt: number | null;
  /** Null: there is none, it is larger than 16 KiB, the answer has no room for it, or the type is sensitive. */
  result: unknown;
  /** Null: there is none. */
  result_bytes: number | null;
  /** Error of a step's attempt that failed. Null: it did not fail. */
  error: string | null;
}

/**
 * The entries of a task, in the order of the handler's calls. At most 1,000.
 * @throws PortUnavailable
 */
export async function stepsOf(
  { steps }: { steps: StepStore },
  record: TaskRecord,
  isSensitive: boolean,
): Promise<StepView[]> {
  const entries = await steps.load(record);
  const last = Number.MAX_SAFE_INTEGER;
  const inOrder = entries.toSorted((a, b) => (a.order ?? last) - (b.order ?? last) || (a.name < b.name ? -1 : 1));
  const shown = inOrder.slice(0, maxEntries);
  const views = shown.map(viewOf);
  if (isSensitive) return views;
  const room = new AnswerRoom();
  // All entries are shown, so their results share what is left.
  for (const view of views) room.takes(view);
  return views.map((view, index) => ({ ...view, result: shownResult(room, shown[index]?.value) }));
}

/** The entry without its result. */
const viewOf = ({ kind, name, order, until, at, timed_out, attempt, value, error }: StepEntry): StepView => ({
  kind,
  name,
  order: order ?? null,
  until: until ?? null,
  at: at ?? null,
  timed_out: timed_out === true,
  attempt: attempt ?? null,
  result: null,
  result_bytes: value === undefined ? null : Buffer.byteLength(value),
  error: error ?? null,
});

function shownResult(room: AnswerRoom, value: string | undefined): unknown {
  if (value === undefined || Buffer.byteLength(value) > largestShownBytes) return null;
  const result: unknown = JSON.parse(value);
  return room.takes(result) ? result : null;
}

/**
 * The input of a task, if the table still has it: that of a dead letter, of a child that was cancelled or expired, of
 * a long wait, of a later submit or retry, or a small one of a task that waits. Of a sensitive type only what the list
 * of dead letters has, too. Undefined: it has not.
 * @throws PermanentError when a large input is no longer in the bucket; PortUnavailable
 */
export async function inputOf(
  ports: { records: Records; blobs: Blobs },
  record: TaskRecord,
  isSensitive: boolean,
): Promise<{ input: unknown } | undefined> {
  if (isSensitive && record.dead_letter_at === undefined) return undefined;
  const stored = await newestStored(ports, record);
  if (stored?.input_ref === undefined) return stored && { input: stored.input ?? null };
  return isSensitive ? undefined : { input: await storedInput(ports, stored) };
}

type StoredInput = Pick<Envelope, "input" | "input_ref">;

async function newestStored({ records }: { records: Records }, record: TaskRecord): Promise<StoredInput | undefined> {
  const { input_part: part } = record;
  const kept = keptText(record);
  const load = async (name: "envelope" | `input#${string}`) =>
    (await records.loadPart(record, name)) as Envelope | undefined;
  if (record.collects !== undefined && part === undefined) return undefined;
  if (part === undefined) return (await load("envelope")) ?? (kept && JSON.parse(kept));
  const newest = await load(`input#${part}`);
  if (newest !== undefined) return newest;
  // The record and the envelope may have the input that was replaced.
  const envelope = await load("envelope");
  return envelope?.message_id === part ? envelope : undefined;
}
