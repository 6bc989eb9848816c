import type { Tier } from "./words.ts";

/**
 * Makes each read of the input an object of its own, so that code that changes its input changes no message that is
 * sent again, and no dead letter. The first read gets the object that is there; only the code that keeps or sends the
 * envelope, after the handler, parses it anew.
 */
export function withOwnInputs<Message extends { input?: unknown }>(envelope: Message, again: () => unknown): Message {
  let first = envelope.input;
  if (typeof first !== "object" || first === null) return envelope;
  return Object.defineProperty(envelope, "input", {
    enumerable: true,
    configurable: true,
    get: () => {
      const input = first ?? again();
      first = undefined;
      return input;
    },
  });
}

/**
 * The version that this code writes. Readers accept any minor version of the same major version, ignore members that
 * they do not know, and keep them when they send the message again.
 */
export const schemaVersion = "1.0";

/**
 * Writes the text of an SQS message: JSON without the characters that SQS refuses. JSON itself escapes the others,
 * control characters and lone surrogates.
 */
export const messageText = (message: unknown): string =>
  JSON.stringify(message).replace(/[\ufffe\uffff]/g, (character) => (character === "\ufffe" ? "\\ufffe" : "\\uffff"));

/**
 * The largest envelope, in bytes of its text: one SQS request unit is 64 KB, and a dead letter adds its failure data.
 */
export const largestEnvelopeBytes = 48 * 1024;

/** The highest version that an input can have. */
export const latestVersion = 1000;

/** The JSON message that makes a worker run a task: self-contained, and immutable once sent. */
export interface Envelope {
  schema_version: string;
  message_id: string;
  task_id: string;
  type: string;
  tenant_id: string;
  requested_by: string;
  correlation_id: string;
  traceparent?: string | undefined;
  enqueued_at: string;
  max_attempts: number;
  /** The version of the input by its type. Absent: 1. */
  input_version?: number | undefined;
  input?: unknown;
  /** True: the input is the array of a list that its task has collected. Absent: it is of one submit. */
  collected?: true | undefined;
  /** Where an input is that is too large for a message. Absent: `input` has it. */
  input_ref?: { key: string; bytes: number; sha256: string } | undefined;
}

/** Allowed difference between the clocks of two submitters, in milliseconds: less than the shortest retention. */
const clockSkewMs = 30_000;

/**
 * Latest `created_at` of this envelope's record. A record with a later one is another task with the same id: the first
 * task's retention had ended, and its idempotency key was used again.
 */
export function latestCreatedAt(envelope: Envelope): string {
  const enqueuedAt = Date.parse(envelope.enqueued_at);
  return Number.isNaN(enqueuedAt) ? "9999" : new Date(enqueuedAt + clockSkewMs).toISOString();
}

/** A message that makes a worker look at a line of waiting tasks. It belongs to no task. */
export interface LineCheck {
  /** The line's name. */
  line: string;
  /** Tells it from other checks of the line. */
  check_id: string;
}

/** The DLQ's message for a task that failed permanently. */
export interface DeadLetterMessage {
  /** The envelope, or the whole text of an unreadable message. */
  original_message: Envelope | string;
  failure_reason: string;
  failure_type: string;
  failure_kind: string;
  attempt_count: number;
  first_failed_at: string;
  last_failed_at: string;
  original_queue: Tier;
}

/** The part of a message from a line that lets its task start. */
export interface Ticket {
  /** The line's state has a permit for the task. */
  hasPermit?: true;
  /** The bucket of the permit that it has. Absent: the first one. */
  bucket?: number;
  /** A worker runs the task already: this message starts it only when that worker has died. */
  isBackup?: true;
  /** Epoch milliseconds of the start that the type's rate gave it. */
  slotMs?: number;
  /** The breaker lets the task try until then, in epoch milliseconds. */
  tryUntilMs?: number;
}

/** Writes a ticket as the text of a message attribute. */
export const ticketText = ({ hasPermit, bucket, isBackup, slotMs, tryUntilMs }: Ticket): string =>
  `${[hasPermit && `held${bucket ? `.${bucket}` : ""}`, isBackup && "spare"].filter(Boolean).join("-")}@${slotMs ?? ""}${tryUntilMs === undefined ? "" : `@${tryUntilMs}`}`;

const ticketPattern = /^(?:(held)(?:\.(\d{1,5}))?)?(?:(?:(?<=\w)-|^)(spare))?@(\d{1,15}|)(?:@(\d{1,15}))?$/;

/** Reads a message attribute. Returns undefined for a text that is not a ticket. */
export function parseTicket(text: string | undefined): Ticket | undefined {
  const found = ticketPattern.exec(text ?? "");
  if (found === null) return undefined;
  const [, hasPermit, bucket, isBackup, slot, tryUntil] = found;
  return {
    ...(hasPermit === undefined ? {} : permitIn(Number(bucket ?? 0))),
    ...(isBackup === undefined ? {} : { isBackup: true }),
    ...(slot === "" ? {} : { slotMs: Number(slot) }),
    ...(tryUntil === undefined ? {} : { tryUntilMs: Number(tryUntil) }),
  };
}

/** The ticket of a permit. */
export const permitIn = (bucket: number): Ticket => ({ hasPermit: true, ...(bucket > 0 && { bucket }) });
