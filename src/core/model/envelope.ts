import * as z from "zod";
import { type Tier, tiers } from "./tier.ts";

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

const envelopeSchema = z.object({
  schema_version: z.string().regex(/^1\.\d+$/, "unknown schema version"),
  message_id: z.string().min(1).max(128),
  task_id: z.uuid(),
  type: z.string().min(1).max(64),
  tenant_id: z.string().min(1).max(128),
  requested_by: z.string().min(1).max(256),
  correlation_id: z.string().min(1).max(128),
  traceparent: z.string().max(128).optional(),
  enqueued_at: z.string().max(40),
  max_attempts: z.int().min(1).max(20),
  /** The version of the input by its type. Absent: 1. */
  input_version: z.int().min(1).max(latestVersion).optional(),
  input: z.unknown().optional(),
  /** Where an input is that is too large for a message. Absent: `input` has it. */
  input_ref: z
    .object({ key: z.string().min(1).max(1024), bytes: z.int().min(0), sha256: z.string().length(64) })
    .optional(),
});

/** A message that is sent again keeps the members that a later release added. */
const readSchema = envelopeSchema.loose();

/** The JSON message that makes a worker run a task: self-contained, and immutable once sent. */
export type Envelope = z.output<typeof envelopeSchema>;

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

/** A parsed envelope, or the reason why the text is not an envelope. */
export type ParsedEnvelope = { ok: true; envelope: Envelope } | { ok: false; reason: string };

/** Parses a message body. Never throws: an unreadable body returns the reason. */
export function parseEnvelope(body: string): ParsedEnvelope {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    return { ok: false, reason: "the message is not JSON" };
  }
  const parsed = readSchema.safeParse(json);
  if (parsed.success) return { ok: true, envelope: withOwnInputs(parsed.data, () => inputIn(body)) };
  const issue = parsed.error.issues[0];
  return { ok: false, reason: `${issue?.path.join(".") || "message"}: ${issue?.message ?? "not an envelope"}` };
}

const inputIn = (body: string): unknown => (JSON.parse(body) as Envelope).input;

/** A message that makes a worker look at a line of waiting tasks. It belongs to no task. */
export interface LineCheck {
  /** The line's name. */
  line: string;
  /** Tells it from other checks of the line. */
  check_id: string;
}

/** A check that is sent again keeps the members that a later release added. */
const lineCheckSchema = z.looseObject({ line: z.string().min(1).max(2048), check_id: z.string().min(1).max(64) });

/** Parses a message body that checks a line; undefined for any other. */
export function parseLineCheck(body: string): LineCheck | undefined {
  if (!body.startsWith('{"line":')) return undefined;
  try {
    return lineCheckSchema.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
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

const deadLetterSchema = z.object({
  original_message: z.union([readSchema, z.string()]),
  failure_reason: z.string(),
  failure_type: z.string(),
  failure_kind: z.string(),
  attempt_count: z.number(),
  first_failed_at: z.string(),
  last_failed_at: z.string(),
  original_queue: z.enum(tiers),
});

/** Parses a DLQ's message; undefined when Offload did not write it. */
export function parseDeadLetter(body: string): DeadLetterMessage | undefined {
  try {
    return deadLetterSchema.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
}
