import type { ChaosClient } from "./client.ts";
import { type Caller, callers, type Planned } from "./workload.ts";

/** A planned task that was accepted, and what its reads showed after its end. */
export interface Ended {
  task: Record<string, unknown>;
  history: { round: number; number: number; outcome: string }[];
}

/** Everything that breaks a promise about single tasks, in words. */
export function checkEnds(
  planned: readonly Planned[],
  ids: ReadonlyMap<Planned, string>,
  ended: ReadonlyMap<Planned, Ended>,
): string[] {
  const violations: string[] = [];
  if (new Set(ids.values()).size !== planned.length) violations.push("some tasks share an id, or were never accepted");
  for (const one of planned) {
    const end = ended.get(one);
    if (end === undefined) {
      violations.push(`${one.key} (${ids.get(one)}) has not ended`);
      continue;
    }
    violations.push(...wrongEnd(one, end), ...wrongHistory(one, end));
    if (one.body.type !== "probe.once") continue;
    const count = (end.task.result as { count?: number } | null)?.count;
    if (count !== 1) violations.push(`${one.key} counted ${count}`);
  }
  return violations;
}

function wrongEnd(one: Planned, { task }: Ended): string[] {
  return task.status === one.ends
    ? []
    : [`${one.key} is ${String(task.status)}, not ${one.ends}: ${String(task.error)}`];
}

/** The history must have every attempt from 1 to the last, and end as the task did. */
function wrongHistory(one: Planned, { task, history }: Ended): string[] {
  const numbers = history.map((attempt) => attempt.number);
  const complete = numbers.length === task.attempts && numbers.every((number, index) => number === index + 1);
  const last = history.at(-1)?.outcome;
  const lastFits = one.ends === "completed" ? last === "completed" : last === "failed";
  const bounded = Number(task.attempts) <= Number(task.max_attempts);
  return complete && lastFits && bounded ? [] : [`${one.key}: its history is ${JSON.stringify(history)}`];
}

/** Reads every list of every caller to its end: each must have exactly the tasks that it should have, once, besides discards. */
export async function checkLists(
  client: ChaosClient,
  ids: ReadonlyMap<Planned, string>,
  discarded: ReadonlySet<Planned>,
): Promise<string[]> {
  const violations: string[] = [];
  const all = [...ids.keys()];
  const compare = async (caller: Caller, path: string, member: string, fits: (one: Planned) => boolean) => {
    const expected = all.filter((one) => sees(caller, one) && fits(one)).map((one) => ids.get(one) ?? "");
    try {
      const found = await client.readAll<{ task_id: string; type: string }>(caller.token, path, member);
      violations.push(
        ...differences(
          `${path} of ${caller.token}`,
          expected,
          found.filter(({ type }) => !type.startsWith("offload.")).map(({ task_id }) => task_id),
        ),
      );
    } catch (error) {
      violations.push(String(error));
    }
  };
  for (const caller of callers) {
    await compare(caller, "/tasks?limit=37", "tasks", () => true);
    await compare(caller, "/tasks?limit=23&type=probe.once", "tasks", ({ body }) => body.type === "probe.once");
    await compare(caller, "/tasks?limit=41&priority=low", "tasks", ({ tier }) => tier === "low");
    if (!caller.seesAll) continue;
    const isLetter = (one: Planned) => one.ends === "failed" && !discarded.has(one);
    await compare(caller, "/dead-letters?limit=11", "dead_letters", isLetter);
  }
  return violations;
}

const sees = (caller: Caller, { caller: owner }: Planned): boolean =>
  caller.seesAll ? caller.tenant === owner.tenant : caller.token === owner.token;

/** Differences between two lists of ids, in words. */
export function differences(name: string, expected: readonly string[], found: readonly string[]): string[] {
  const wanted = new Set(expected);
  const seen = new Set(found);
  const twice = found.filter((id, index) => found.indexOf(id) !== index);
  const missing = expected.filter((id) => !seen.has(id));
  const extra = found.filter((id) => !wanted.has(id));
  return [
    ...twice.map((id) => `${name} has ${id} twice`),
    ...missing.map((id) => `${name} does not have ${id}`),
    ...extra.map((id) => `${name} has ${id}, which does not belong there`),
  ];
}
