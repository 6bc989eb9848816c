import * as z from "zod";
import { type Tier, tiers } from "./tier.ts";

/**
 * The version that this code writes. Readers take any minor version of the same major one, leave members that they do not know
 * alone, and hand them on.
 */
export const schemaVersion = "1.0";

/** The largest envelope, in bytes of JSON: one SQS request unit is 64 KB, and a dead letter adds its failure data. */
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
  input: z.unknown(),
});

/** A message that is sent again keeps what a later release has put into it. */
const readSchema = envelopeSchema.loose();

/** The JSON message that makes a worker run a task: self-contained, and immutable once sent. */
export type Envelope = z.output<typeof envelopeSchema>;

/** By how much the clocks of two submitters may differ, in milliseconds: less than the shortest retention. */
const clockSkewMs = 30_000;

/**
 * Until when the record was made that an envelope is for. A record that was made later has the same id and is another task:
 * the first one's retention was over, and its idempotency key was used again.
 */
export function latestCreatedAt(envelope: Envelope): string {
  const enqueuedAt = Date.parse(envelope.enqueued_at);
  return Number.isNaN(enqueuedAt) ? "9999" : new Date(enqueuedAt + clockSkewMs).toISOString();
}

/** A parsed envelope, or why the text is none. */
export type ParsedEnvelope = { ok: true; envelope: Envelope } | { ok: false; reason: string };

/** Reads a message body. Never throws: whatever cannot be read comes back with the reason. */
export function parseEnvelope(body: string): ParsedEnvelope {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    return { ok: false, reason: "the message is no JSON" };
  }
  const parsed = readSchema.safeParse(json);
  if (parsed.success) return { ok: true, envelope: parsed.data };
  const issue = parsed.error.issues[0];
  return { ok: false, reason: `${issue?.path.join(".") || "message"}: ${issue?.message ?? "not an envelope"}` };
}

/** What a DLQ holds for a task that failed for good. */
export interface DeadLetterMessage {
  /** The envelope, or the whole text of a message that was none. */
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

/** Reads a DLQ's message; undefined when it is none of ours. */
export function parseDeadLetter(body: string): DeadLetterMessage | undefined {
  try {
    return deadLetterSchema.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
}
