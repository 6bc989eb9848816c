import * as z from "zod";
import { tenantPattern } from "../model/keys.ts";
import { type Tier, tiers } from "../model/tier.ts";

/** Limits of one tenant. Absent: the default applies; null: no limit, even if the default has one. */
export interface Limits {
  /** Accepted submits per second, on average. */
  submits_per_second?: number | null | undefined;
  /** Submits accepted at once after a pause. Default: those of one second, at least 1. */
  burst?: number | null | undefined;
  /** Tasks that have been accepted and have not ended. Each counts for at most 24 hours. */
  tasks_in_progress?: number | null | undefined;
  /** The largest request body, in bytes. */
  request_bytes?: number | null | undefined;
  /** Schedules that the tenant has, without those of the app's code. Default: `defaultSchedules`. */
  schedules?: number | null | undefined;
  /**
   * Bytes of the announced uploads that no task has taken, each for at most 25 hours, and as at least
   * `leastUploadBytes`. Default: `defaultOpenUploadBytes`.
   */
  open_upload_bytes?: number | null | undefined;
}

/**
 * Schedules that a tenant may have when nothing sets another limit: those of AWS's default quotas are for a whole
 * account.
 */
export const defaultSchedules = 100;

/** Bytes of uploads that a tenant may have announced when nothing sets another limit: twenty of the largest files. */
export const defaultOpenUploadBytes = 100 * 1024 ** 3;

/** Bytes as which a small upload counts, so that the limit bounds the number of uploads as well. */
export const leastUploadBytes = 1024 ** 2;

export const limitNames = [
  "submits_per_second",
  "burst",
  "tasks_in_progress",
  "request_bytes",
  "schedules",
  "open_upload_bytes",
] as const;

/** Limits to change, at least one. `unset`: the default applies again. Absent: the limit stays as it is. */
export type LimitChanges = { readonly [name in keyof Limits]?: number | null | "unset" | undefined };

/** Number of messages, visible and in flight, at which a tier refuses submits. Absent or null: no bound. */
export type DepthBounds = { readonly [tier in Tier]?: number | null | undefined };

/** All limits for the submits of a deployment. */
export interface AllLimits {
  /** Limits of each tenant that has none of its own. */
  default: Limits;
  tenants: Readonly<Record<string, Limits>>;
  depth: DepthBounds;
}

/**
 * Default depth bounds of a deployment: far above a usual backlog, and far below a backlog that takes days to drain.
 * `critical` has the lowest, as its tasks must not wait long.
 */
export const defaultDepthBounds = { critical: 20_000, high: 50_000, normal: 100_000, low: 100_000 } as const;

/** A number, or `none` or null for no limit. */
const orNone = (schema: z.ZodNumber) =>
  z.preprocess((value) => (value === "none" ? null : value), schema.nullable()).optional();

/** Limits as operators write them; `none` removes a limit that the default sets. */
export const limitsSchema = z.strictObject({
  submits_per_second: orNone(z.number().min(0.001).max(100_000)),
  burst: orNone(z.int().min(1).max(1_000_000)),
  tasks_in_progress: orNone(z.int().min(0).max(100_000_000)),
  request_bytes: orNone(z.int().min(1).max(1_048_576)),
  schedules: orNone(z.int().min(0).max(1_000_000)),
  open_upload_bytes: orNone(
    z
      .int()
      .min(0)
      .max(1024 ** 5),
  ),
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
  tenants: z
    .record(
      z.string().regex(tenantPattern, "expected a tenant id: 1 to 64 of A-Z, a-z, 0-9, '_' and '-'"),
      limitsSchema,
    )
    .default({}),
  depth: depthSchema.default({}),
});

export const noLimits: AllLimits = { default: {}, tenants: {}, depth: {} };

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

/**
 * Merges limits: for each limit, the first source that sets it wins. `burst` is taken from the source that sets the
 * rate.
 */
export function mergeLimits(...sources: readonly (Limits | undefined)[]): Limits {
  const first = (name: keyof Limits) => sources.find((source) => source?.[name] !== undefined)?.[name];
  const orDefault = (name: keyof Limits, value: number) => {
    const found = first(name);
    return found === undefined ? value : found;
  };
  const rateSource = sources.find((source) => source?.submits_per_second !== undefined);
  return {
    submits_per_second: rateSource?.submits_per_second,
    burst: rateSource?.burst,
    tasks_in_progress: first("tasks_in_progress"),
    request_bytes: first("request_bytes"),
    schedules: orDefault("schedules", defaultSchedules),
    open_upload_bytes: orDefault("open_upload_bytes", defaultOpenUploadBytes),
  };
}
