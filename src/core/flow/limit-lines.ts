import { inShort, quiet } from "../model/foreign-value.ts";
import { allTenants, type Line, limitLine, lineOf } from "../model/line.ts";
import type { Limit, LimitedType } from "../task/type-limits.ts";
import type { FlowBook } from "./flow-book.ts";

/** The sharing of a limit that an operator set for a type which is defined without one: all its tasks share it, of all tenants. */
const ofWholeType = { scope: "deployment" } as const;

/** The sharing of a type's limits by its tasks. Absent: the type has no such limit now. */
export interface LimitsInForce {
  concurrency?: Limit<never> | undefined;
  rateLimit?: Limit<never> | undefined;
}

/** The limits of a type's definition, and those that an operator set in addition. */
export async function limitsInForce(flow: FlowBook, type: LimitedType): Promise<LimitsInForce> {
  const { concurrency, rateLimit } = type;
  const set = await flow.limitsOf(type.name);
  return {
    concurrency: concurrency ?? (set?.concurrency === undefined ? undefined : ofWholeType),
    rateLimit: rateLimit ?? (set?.rate === undefined ? undefined : ofWholeType),
  };
}

/** The number of places of a type's keys. Undefined: the type is unknown, or has no such limit. */
export async function placesOf(flow: FlowBook, type: LimitedType | undefined): Promise<number | undefined> {
  if (type === undefined) return undefined;
  return (await flow.limitsOf(type.name))?.concurrency ?? type.concurrency?.limit;
}

/** The time between two starts of a type's keys. Undefined: the type is unknown, or has no such limit. */
export async function rateOf(
  flow: FlowBook,
  type: LimitedType | undefined,
): Promise<{ intervalMs: number } | undefined> {
  if (type === undefined) return undefined;
  const set = (await flow.limitsOf(type.name))?.rate;
  if (set !== undefined) return { intervalMs: (set.per_seconds * 1000) / set.limit };
  return type.rateLimit && { intervalMs: (type.rateLimit.perSeconds * 1000) / type.rateLimit.limit };
}

const longestKey = 256;

/**
 * The line of a task's limit.
 * @throws TypeError when the type's `key` returns no key; whatever it throws
 */
export function lineFor(
  kind: "concurrency" | "rate",
  type: LimitedType,
  { key, scope }: Limit<never>,
  { tenantId, input }: { tenantId: string; input: unknown },
): Line {
  const given: unknown = key === undefined ? "" : key(input as never);
  // All tasks whose key is NaN would share one line.
  const text = Number.isFinite(given) ? String(given) : given;
  if (typeof text !== "string" || text.length > longestKey || (key !== undefined && text === "")) {
    quiet(given);
    const name = kind === "rate" ? "rateLimit" : kind;
    throw new TypeError(
      `${name}.key returned ${inShort(given)}, and no text of 1 to ${longestKey} characters or finite number`,
    );
  }
  const tenant = scope === "deployment" ? allTenants : tenantId;
  // A lone surrogate cannot be a key of the table.
  return lineOf(limitLine(kind, { type: type.name, tenantId: tenant, key: text.toWellFormed() })) as Line;
}
