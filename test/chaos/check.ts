import type { Planned } from "./workload.ts";

/** What the outside sees of an ended task. */
export interface Ended {
  task: Record<string, unknown>;
  history: { round: number; number: number; outcome: string }[];
}

/** Everything that breaks a promise, in words. */
export function check(
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
