import * as z from "zod";
import { tenantPattern } from "../keys.ts";
import { type Tier, tiers } from "../tier.ts";

/** What one tenant may use. Absent: no bound; null: no bound, whatever the default says. */
export interface Limits {
  /** Accepted submits a second, in the long run. */
  submits_per_second?: number | null | undefined;
  /** Submits that may come at once after a pause. Default: those of one second, at least 1. */
  burst?: number | null | undefined;
  /** Tasks that have been accepted and have not ended; each counts for a day at the most. */
  tasks_in_progress?: number | null | undefined;
  /** The largest request body, in bytes. */
  request_bytes?: number | null | undefined;
}

export const limitNames = ["submits_per_second", "burst", "tasks_in_progress", "request_bytes"] as const;

/** How many messages a tier may hold, waiting or being worked on, before submits to it are refused. Absent, null: any number. */
export type DepthBounds = { readonly [tier in Tier]?: number | null | undefined };

/** Everything that bounds a deployment's submits. */
export interface AllLimits {
  /** For every tenant, where nothing is said about it alone. */
  default: Limits;
  tenants: Readonly<Record<string, Limits>>;
  depth: DepthBounds;
}

/**
 * The depth bounds of a deployment where nobody said otherwise: far above any usual backlog, and far below what would take
 * days to drain. `critical` is for what must be soon, so it says no soonest.
 */
export const defaultDepthBounds = { critical: 20_000, high: 50_000, normal: 100_000, low: 100_000 } as const;

/** `none`, as people write it, and null, as JSON has it, lift a bound. */
const orNone = (schema: z.ZodNumber) =>
  z.preprocess((value) => (value === "none" ? null : value), schema.nullable()).optional();

/** Limits as operators write them; `none` lifts a bound that the default has. */
export const limitsSchema = z.strictObject({
  submits_per_second: orNone(z.number().min(0.001).max(100_000)),
  burst: orNone(z.int().min(1).max(1_000_000)),
  tasks_in_progress: orNone(z.int().min(0).max(100_000_000)),
  request_bytes: orNone(z.int().min(1).max(1_048_576)),
});

const depthBound = orNone(z.int().min(1).max(100_000_000));
export const depthSchema = z.strictObject({
  critical: depthBound,
  high: depthBound,
  normal: depthBound,
  low: depthBound,
});

const allSchema = z.strictObject({
  default: limitsSchema.default({}),
  tenants: z.record(z.string().regex(tenantPattern, "not a tenant's id"), limitsSchema).default({}),
  depth: depthSchema.default({}),
});

export const noLimits: AllLimits = { default: {}, tenants: {}, depth: {} };

/**
 * Reads `OFFLOAD_LIMITS`: `{"default": {...}, "tenants": {"acme": {"submits_per_second": 20}}, "depth": {"low": 100}}`.
 * Limits on the top level are those of the default, `depth` may be one number for all tiers, and names may begin with
 * `max_`.
 * @throws Error in one line that says what is wrong where
 */
export function parseLimits(text: string): AllLimits {
  if (text.trim() === "") return noLimits;
  const parsed = allSchema.safeParse(arranged(parseJson(text)));
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new Error(`${issue?.path.join(".") || "limits"}: ${issue?.message ?? "not understood"}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("expected a JSON object");
  }
}

/** `max_burst` and `burst` mean the same. */
const plainNames = (value: unknown): unknown =>
  isObject(value) ? mapMembers(value, (name, member) => [name.replace(/^max_/, ""), member]) : value;

/** Brings what people may write into the one form that the schema knows. */
function arranged(value: unknown): unknown {
  if (!isObject(value)) return value;
  const rest = plainNames(value) as Record<string, unknown>;
  const general: Record<string, unknown> = {};
  for (const name of limitNames) {
    if (Object.hasOwn(rest, name)) general[name] = rest[name];
    delete rest[name];
  }
  const { depth, tenants } = rest;
  if (typeof depth === "number") rest.depth = Object.fromEntries(tiers.map((tier) => [tier, depth]));
  if (isObject(tenants)) rest.tenants = mapMembers(tenants, (name, limits) => [name, plainNames(limits)]);
  if (rest.default !== undefined || Object.keys(general).length > 0) {
    rest.default = { ...general, ...(plainNames(rest.default ?? {}) as Record<string, unknown>) };
  }
  return rest;
}

const mapMembers = (value: Record<string, unknown>, map: (name: string, member: unknown) => [string, unknown]) =>
  Object.fromEntries(Object.entries(value).map(([name, member]) => map(name, member)));

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** What holds for a tenant: the first source that says anything about a bound decides it. A burst belongs to its rate. */
export function mergeLimits(...sources: readonly (Limits | undefined)[]): Limits {
  const first = (name: keyof Limits) => sources.find((source) => source?.[name] !== undefined)?.[name];
  const rated = sources.find((source) => source?.submits_per_second !== undefined);
  return {
    submits_per_second: rated?.submits_per_second,
    burst: rated?.burst,
    tasks_in_progress: first("tasks_in_progress"),
    request_bytes: first("request_bytes"),
  };
}
