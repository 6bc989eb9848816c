import { setTimeout as sleep } from "node:timers/promises";
import type { JsonCalls } from "./json-calls.ts";
import type { QueryAnswer, SavedQuery } from "./verified-account.ts";

const lookEveryMs = 1_000;

/** A query of some minutes' lines ends within seconds. */
const mostLooks = 60;

interface Definition {
  name?: string;
  queryString?: string;
  logGroupNames?: string[];
}

/** The queries that a deployment has saved, by their names without the deployment's. */
export async function savedQueries(calls: Pick<JsonCalls, "logs">, deployment: string): Promise<SavedQuery[]> {
  const prefix = `${deployment}/`;
  const answer = await calls.logs("DescribeQueryDefinitions", { queryDefinitionNamePrefix: prefix, maxResults: 100 });
  const found = (answer.queryDefinitions ?? []) as Definition[];
  return found.map(({ name = "", queryString = "", logGroupNames = [] }) => ({
    ...{ name: name.slice(prefix.length), text: queryString, logGroups: logGroupNames },
  }));
}

/**
 * Runs a query to its end.
 * @throws Error when it fails, or does not end within a minute
 */
export async function runQuery(
  calls: Pick<JsonCalls, "logs">,
  { text, logGroups }: Omit<SavedQuery, "name">,
  sinceMs: number,
): Promise<QueryAnswer> {
  const span = { startTime: Math.floor(sinceMs / 1000), endTime: Math.ceil(Date.now() / 1000) };
  const { queryId } = await calls.logs("StartQuery", { ...span, queryString: text, logGroupNames: logGroups });
  for (let look = 0; look < mostLooks; look++) {
    const answer = await calls.logs("GetQueryResults", { queryId });
    const { status, results = [], statistics } = answer as QueryState;
    if (status === "Complete") return { rows: results.map(rowOf), bytes: statistics?.bytesScanned ?? 0 };
    if (status !== "Running" && status !== "Scheduled") throw new Error(`the query ended as ${status}`);
    await sleep(lookEveryMs);
  }
  throw new Error("the query did not end within a minute");
}

interface QueryState {
  status?: string;
  results?: readonly Cell[][];
  statistics?: { bytesScanned?: number };
}

interface Cell {
  field?: string;
  value?: string;
}

const rowOf = (cells: readonly Cell[]): Record<string, string> =>
  Object.fromEntries(cells.map(({ field = "", value = "" }) => [field, value]));
