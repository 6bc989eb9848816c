import { fitsOf } from "../model/fits.ts";
import { tenantPattern } from "../model/keys.ts";
import { type Tier, tiers } from "../model/words.ts";

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
export const minUploadBytes = 1024 ** 2;

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

/** The least and the most of each limit. All but the rate are whole numbers. */
export const limitBounds = {
  submits_per_second: [0.001, 100_000],
  burst: [1, 1_000_000],
  tasks_in_progress: [0, 100_000_000],
  request_bytes: [1, 1_048_576],
  schedules: [0, 1_000_000],
  open_upload_bytes: [0, 1024 ** 5],
} as const satisfies Record<keyof Limits, readonly [number, number]>;

export const depthBounds = [1, 100_000_000] as const;

export const noLimits: AllLimits = { default: {}, tenants: {}, depth: {} };

const strict = (properties: object) => ({ type: "object", additionalProperties: false, properties });

const orNull = (type: "integer" | "number", [minimum, maximum]: readonly [number, number]) => ({
  anyOf: [{ type: "null" }, { type, minimum, maximum }],
});

const byName = <Name extends string>(names: readonly Name[], of: (name: Name) => object) =>
  strict(Object.fromEntries(names.map((name) => [name, of(name)])));

const someLimits = byName(limitNames, (name) =>
  orNull(name === "submits_per_second" ? "number" : "integer", limitBounds[name]),
);

const isWritten = fitsOf(
  strict({
    default: someLimits,
    tenants: {
      ...{ type: "object", additionalProperties: someLimits },
      propertyNames: { type: "string", pattern: tenantPattern.source },
    },
    depth: byName(tiers, () => orNull("integer", depthBounds)),
  }),
);

/**
 * Reads limits as a synthesis writes them into the environment. Undefined: `parseLimits` has to read the text, which
 * may be an operator's, and words its faults.
 */
export function writtenLimits(text: string): AllLimits | undefined {
  if (text === "") return noLimits;
  try {
    const limits: unknown = JSON.parse(text);
    return isWritten(limits) ? { ...noLimits, ...(limits as Partial<AllLimits>) } : undefined;
  } catch {
    return undefined;
  }
}

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
