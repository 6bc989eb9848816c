import type { Tier } from "./words.ts";

/**
 * A line: tasks that wait for the same thing, in order of submission. Its name says for what:
 *
 * | name | tasks wait |
 * |---|---|
 * | `pause/tier/<tier>`, `pause/type/<type>`, `pause/type/<type>/<tenant>`, `pause/tenant/<tenant>` | until an operator resumes it |
 * | `breaker/<type>/<tenant>`, `breaker/<type>/<tenant>/<key>` | until the breaker of a type that fails lets them go |
 * | `concurrency/<type>/<tenant>/<key>` | for a permit; without tenant for types whose tenants share permits |
 * | `rate/<type>/<tenant>/<key>` | for a time to start |
 *
 * No tier, type or tenant contains `/`.
 */
export interface WaitQueue {
  name: string;
  kind: WaitQueueKind;
  /** Absent for a pause of a tier or a tenant. */
  type?: string;
}

export type WaitQueueKind = "pause" | "breaker" | "concurrency" | "rate";

const kinds: readonly string[] = ["pause", "breaker", "concurrency", "rate"] satisfies readonly WaitQueueKind[];

/** Reads a line's name. Returns undefined for a text that names no line. */
export function lineOf(name: string): WaitQueue | undefined {
  const [kind = "", first, second] = name.split("/");
  if (!kinds.includes(kind) || first === undefined) return undefined;
  const type = kind === "pause" ? (first === "type" ? second : undefined) : first;
  return { name, kind: kind as WaitQueueKind, ...(type === undefined ? {} : { type }) };
}

/**
 * Seconds for which the record of a task in a line is kept, and its entry there, from the beginning of its wait. The
 * daily reconciliation keeps both anew while the task waits.
 */
export const longestLineSeconds = 60 * 86_400;

/**
 * The entry of a task in a line is stored for this many seconds longer than the task's record: a process that stood
 * still may add the entry again, by an earlier time than another one has written to the record.
 */
export const entryMarginSeconds = 86_400;

/** True for a line of a limit. The others are those of pauses and breakers, which are settings, too. */
export const isOfLimit = (line: string): boolean => ["concurrency", "rate"].includes(lineOf(line)?.kind ?? "");

/** True for the line of a paused tier. */
export const isOfTier = ({ name }: WaitQueue): boolean => name.startsWith("pause/tier/");

/** A pause, as operators name it. A pause of a type without a tenant is one for all tenants. */
export type PauseTarget =
  | { scope: "tier"; tier: Tier }
  | { scope: "type"; type: string; tenantId?: string | undefined }
  | { scope: "tenant"; tenantId: string };

/** The name of a pause, and of the line of the tasks that it stops. */
export function pauseName(target: PauseTarget): string {
  if (target.scope === "tier") return `pause/tier/${target.tier}`;
  if (target.scope === "tenant") return `pause/tenant/${target.tenantId}`;
  const { type, tenantId } = target;
  return tenantId === undefined ? `pause/type/${type}` : `pause/type/${type}/${tenantId}`;
}

/** The work that a pause may stop. */
export interface PausableWork {
  tier: Tier;
  type: string;
  tenantId: string;
}

/** The names of all pauses that stop a task, the widest first. */
export const pausesOf = ({ tier, type, tenantId }: PausableWork): string[] => [
  pauseName({ scope: "tier", tier }),
  pauseName({ scope: "tenant", tenantId }),
  pauseName({ scope: "type", type }),
  pauseName({ scope: "type", type, tenantId }),
];

/** The start of the names of all types' breakers. No other setting of flow has a name that sorts before them. */
export const breakersPrefix = "breaker/";

/**
 * The name of a type's breaker for a tenant.
 * @param key Absent: the breaker has no key.
 */
export const breakerName = (type: string, tenantId: string, key?: string): string =>
  `${breakersPrefix}${type}/${tenantId}${key === undefined ? "" : `/${key}`}`;

/** The name of a line of a type's own limit. */
export const limitLine = (
  kind: "concurrency" | "rate",
  { type, tenantId, key }: { type: string; tenantId: string; key: string },
): string => `${kind}/${type}/${tenantId}/${key}`;

/** The tenant in the names of lines that all tenants share. No tenant has this id. */
export const allTenants = "*";
