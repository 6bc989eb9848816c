import { allShards } from "../../model/line-shards.ts";
import { iso } from "../../model/record.ts";
import type { Lines, WaitingEntry } from "../../ports/flow.ts";
import type { LimitsView } from "./view-flow.ts";

/** Lines of a limit that are read, and tasks of each, at most: a look at all types pays for them. */
const mostLines = 5;
const mostTasks = 10;

/** The tasks of a type that wait for a place or a start. */
export interface LimitWait {
  /** Time from which the first of them waits. */
  since: string;
  tasks: number;
  /** False: further ones wait. */
  complete: boolean;
}

/**
 * The tasks that wait in the lines of a type's limits. Reads nothing for a type without limits.
 * @param tenantId The tenant whose lines are read: those that tenants share tell of others. Undefined: all lines.
 */
export async function limitWait(
  lines: Pick<Lines, "first" | "list" | "states">,
  { concurrency, rate_limit }: LimitsView,
  type: string,
  tenantId: string | undefined,
): Promise<LimitWait | null> {
  const kinds = [...(concurrency === null ? [] : ["concurrency"]), ...(rate_limit === null ? [] : ["rate"])];
  const prefixes = kinds.map((kind) => `${kind}/${type}/${tenantId === undefined ? "" : `${tenantId}/`}`);
  const listed = await Promise.all(prefixes.map((prefix) => lines.list(prefix, mostLines + 1)));
  const read = listed.flatMap((found) => found.slice(0, mostLines));
  const states = await lines.states(read);
  const waiting = await Promise.all(
    read.map((line, index) => lines.first(line, mostTasks + 1, states[index]?.sharded && allShards)),
  );
  const since = waiting.flat().map(sinceOf).sort()[0];
  if (since === undefined) return null;
  return {
    since,
    tasks: waiting.reduce((sum, tasks) => sum + Math.min(tasks.length, mostTasks), 0),
    complete: [
      ...listed.map(({ length }) => length <= mostLines),
      ...waiting.map((one) => one.length <= mostTasks),
    ].every(Boolean),
  };
}

const sinceOf = ({ sinceMs, createdAt }: WaitingEntry): string => (sinceMs === undefined ? createdAt : iso(sinceMs));
