import * as z from "zod";
import { tenantPattern } from "../model/keys.ts";
import { tiers } from "../model/words.ts";
import { type AllLimits, depthBounds, limitBounds, limitNames, noLimits } from "./limits.ts";

/** A number, or `none` or null for no limit. */
const orNone = (number: z.ZodNumber, [min, max]: readonly [number, number]) =>
  z.preprocess((value) => (value === "none" ? null : value), number.min(min).max(max).nullable()).optional();

/** Limits as operators write them; `none` removes a limit that the default sets. */
export const limitsSchema = z.strictObject({
  submits_per_second: orNone(z.number(), limitBounds.submits_per_second),
  burst: orNone(z.int(), limitBounds.burst),
  tasks_in_progress: orNone(z.int(), limitBounds.tasks_in_progress),
  request_bytes: orNone(z.int(), limitBounds.request_bytes),
  schedules: orNone(z.int(), limitBounds.schedules),
  open_upload_bytes: orNone(z.int(), limitBounds.open_upload_bytes),
});

const depthBound = orNone(z.int(), depthBounds);
export const depthSchema = z.strictObject({
  critical: depthBound,
  high: depthBound,
  normal: depthBound,
  low: depthBound,
});

const allSchema = z.strictObject({
  default: limitsSchema.default({}),
  tenants: z
    .record(
      z.string().regex(tenantPattern, "expected a tenant id: 1 to 64 of A-Z, a-z, 0-9, '_' and '-'"),
      limitsSchema,
    )
    .default({}),
  depth: depthSchema.default({}),
});

/**
 * Reads `OFFLOAD_LIMITS`: `{"default": {...}, "tenants": {"acme": {"submits_per_second": 20}}, "depth": {"low": 100}}`.
 * Limits at the top level belong to the default, `depth` may be one number for all tiers, and names may begin with
 * `max_`.
 * @throws Error with one line that names the field and the fault
 */
export function parseLimits(text: string): AllLimits {
  if (text.trim() === "") return noLimits;
  const parsed = allSchema.safeParse(normalized(parseJson(text)));
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new Error(`${issue?.path.join(".") || "limits"}: ${issue?.message ?? "is not valid"}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("expected a JSON object");
  }
}

/** `max_burst` and `burst` mean the same. */
const withoutMaxPrefix = (value: unknown): unknown =>
  isObject(value) ? mapMembers(value, (name, member) => [name.replace(/^max_/, ""), member]) : value;

/** Converts the forms that operators may write into the one form of the schema. */
function normalized(value: unknown): unknown {
  if (!isObject(value)) return value;
  const rest = withoutMaxPrefix(value) as Record<string, unknown>;
  const general: Record<string, unknown> = {};
  for (const name of limitNames) {
    if (Object.hasOwn(rest, name)) general[name] = rest[name];
    delete rest[name];
  }
  const { depth, tenants } = rest;
  if (typeof depth === "number") rest.depth = Object.fromEntries(tiers.map((tier) => [tier, depth]));
  if (isObject(tenants)) rest.tenants = mapMembers(tenants, (name, limits) => [name, withoutMaxPrefix(limits)]);
  if (rest.default !== undefined || Object.keys(general).length > 0) {
    rest.default = { ...general, ...(withoutMaxPrefix(rest.default ?? {}) as Record<string, unknown>) };
  }
  return rest;
}

const mapMembers = (value: Record<string, unknown>, map: (name: string, member: unknown) => [string, unknown]) =>
  Object.fromEntries(Object.entries(value).map(([name, member]) => map(name, member)));

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
