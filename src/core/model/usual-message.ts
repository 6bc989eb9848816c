import { type Envelope, type LineCheck, latestVersion, withOwnInputs } from "./envelope.ts";
import type { ReadMessage } from "./read-envelope.ts";

/** The text of a member by a pattern, or the least and the most of a whole number. */
type Rules = Readonly<Record<string, RegExp | readonly [least: number, most: number]>>;

/** As the schemas of `read-envelope.ts`, or narrower. */
const needed: Rules = {
  schema_version: /^1\.\d+$/,
  message_id: /^.{1,128}$/s,
  task_id: /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  type: /^.{1,64}$/s,
  tenant_id: /^.{1,128}$/s,
  requested_by: /^.{1,256}$/s,
  correlation_id: /^.{1,128}$/s,
  enqueued_at: /^.{0,40}$/s,
  max_attempts: [1, 20],
};
const optional: Rules = { traceparent: /^.{0,128}$/s, input_version: [1, latestVersion] };
const reference: Rules = {
  key: /^.{1,1024}$/s,
  bytes: [0, Number.MAX_SAFE_INTEGER],
  sha256: /^[0-9a-f]{64}$/,
};
const lineCheck: Rules = { line: /^.{1,2048}$/s, check_id: /^.{1,64}$/s };

/**
 * Reads a message in the form that Offload writes. Undefined: the schemas of `read-envelope.ts` decide, whose zod no
 * worker needs at its start. A property test holds that this accepts nothing which they refuse.
 */
export function usualMessage(body: string): ReadMessage | undefined {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    return undefined;
  }
  if (body.startsWith('{"line":')) return fits(json, lineCheck) ? { check: json as LineCheck } : undefined;
  if (!fits(json, needed, optional)) return undefined;
  const envelope = json as Envelope;
  const { input_ref: ref } = envelope;
  // The schema drops further members of a reference.
  if (ref !== undefined && !(fits(ref, reference) && Object.keys(ref).length === 3)) return undefined;
  return { ok: true, envelope: withOwnInputs(envelope, () => (JSON.parse(body) as Envelope).input) };
}

/** A schema drops a member with the name `__proto__`. */
function fits(value: unknown, rules: Rules, more: Rules = {}): boolean {
  if (typeof value !== "object" || value === null || Object.hasOwn(value, "__proto__")) return false;
  const members = value as Readonly<Record<string, unknown>>;
  for (const [name, rule] of Object.entries({ ...more, ...rules })) {
    const member = members[name];
    if (member === undefined && !(name in rules)) continue;
    if (!(rule instanceof RegExp)) {
      if (!Number.isSafeInteger(member) || Number(member) < rule[0] || Number(member) > rule[1]) return false;
    } else if (typeof member !== "string" || !rule.test(member)) return false;
  }
  return true;
}
