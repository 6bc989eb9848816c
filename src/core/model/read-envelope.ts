import * as z from "zod";
import { type DeadLetterMessage, type Envelope, type LineCheck, latestVersion, withOwnInputs } from "./envelope.ts";
import { tiers } from "./words.ts";

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
  input_version: z.int().min(1).max(latestVersion).optional(),
  input: z.unknown().optional(),
  input_ref: z
    .object({ key: z.string().min(1).max(1024), bytes: z.int().min(0), sha256: z.string().length(64) })
    .optional(),
}) satisfies z.ZodType<Envelope>;

/** A message that is sent again keeps the members that a later release added. */
const readSchema = envelopeSchema.loose();

/** A parsed envelope, or the reason why the text is not an envelope. */
export type ParsedEnvelope = { ok: true; envelope: Envelope } | { ok: false; reason: string };

/** A message of a tier's queue: a check of a line, an envelope, or the reason why it is none. */
export type ReadMessage = { check: LineCheck } | ParsedEnvelope;

/** Parses a message body. Never throws. */
export function parseMessage(body: string): ReadMessage {
  const check = parseLineCheck(body);
  return check === undefined ? parseEnvelope(body) : { check };
}

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
