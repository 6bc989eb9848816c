import type { Blobs } from "./blob/ports.ts";
import type { Envelope } from "./envelope.ts";
import { storedInput } from "./large-input.ts";
import type { Records } from "./ports.ts";
import type { TaskRecord } from "./record.ts";
import type { StepEntry, StepStore } from "./steps/ports.ts";

/** Larger results of steps are not shown. Bytes of JSON. */
const largestShownBytes = 16 * 1024;

/** The most entries that are shown. */
const mostEntries = 1_000;

/** A stored entry of a task as clients see it: names and order of the fields are part of the API. */
export interface StepView {
  kind: StepEntry["kind"];
  name: string;
  /** Number of the handler's call, from 1. Null: the handler did not make it. */
  order: number | null;
  /** End of a sleep, or time at which a wait times out. */
  until: string | null;
  timed_out: boolean;
  /** Number of the attempt that stored a state, over all rounds. */
  attempt: number | null;
  /** Null: there is none, it is larger than 16 KiB, or the type is sensitive. */
  result: unknown;
  /** Null: there is none. */
  result_bytes: number | null;
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
  return inOrder.slice(0, mostEntries).map((entry) => viewOf(entry, isSensitive));
}

function viewOf({ kind, name, order, until, timed_out, attempt, value }: StepEntry, isSensitive: boolean): StepView {
  const bytes = value === undefined ? null : Buffer.byteLength(value);
  const isShown = value !== undefined && bytes !== null && bytes <= largestShownBytes && !isSensitive;
  return {
    kind,
    name,
    order: order ?? null,
    until: until ?? null,
    timed_out: timed_out === true,
    attempt: attempt ?? null,
    result: isShown ? JSON.parse(value) : null,
    result_bytes: bytes,
  };
}

/**
 * The input of a task, if the table still has it: that of a dead letter, of a long wait, of a later submit or retry, or a small one of a task that
 * waits. Undefined: it has not.
 * @throws PermanentError when a large input is no longer in the bucket; PortUnavailable
 */
export async function inputOf(
  ports: { records: Records; blobs: Blobs },
  record: TaskRecord,
): Promise<{ input: unknown } | undefined> {
  const stored = (await storedEnvelope(ports, record)) ?? keptInput(record);
  if (stored === undefined) return undefined;
  return { input: stored.input_ref === undefined ? (stored.input ?? null) : await storedInput(ports, stored) };
}

const storedEnvelope = async ({ records }: { records: Records }, record: TaskRecord): Promise<Envelope | undefined> =>
  (await records.loadPart(record, record.input_part === undefined ? "envelope" : `input#${record.input_part}`)) as
    | Envelope
    | undefined;

const keptInput = ({ kept_input }: TaskRecord): Envelope | undefined =>
  kept_input === undefined ? undefined : (JSON.parse(kept_input) as Envelope);
