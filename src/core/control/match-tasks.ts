import { isInternal } from "../model/internal-names.ts";
import { Problem } from "../model/problem.ts";
import { hasEnded, isKept, iso, type TaskRecord } from "../model/record.ts";
import type { Clock, Records } from "../ports/tasks.ts";
import { type ControlPorts, isCancellable } from "./control.ts";
import type { ReadSoFar } from "./find-dead-letters.ts";
import { isSelected, type TaskFilter } from "./list.ts";
import { waitsForItsTime } from "./run-now.ts";

/** Operations that match tasks of any status, not dead letters. */
export type TaskAction = "cancel" | "retry" | "run_now";

interface MatchPorts extends Pick<ControlPorts, "types"> {
  records: Records;
  clock: Clock;
}

/** Maximum number of tasks that a filter reads for an operation: they are all read while its request waits. */
export const maxTasks = 10_000;

const pageSize = 100;

/** True for a task that an action can change at a given time. */
const canChange: Readonly<Record<TaskAction, (ports: MatchPorts, record: TaskRecord, nowMs: number) => boolean>> = {
  cancel: (ports, record, nowMs) => !hasEnded(record, nowMs) && isCancellable(ports, record),
  retry: (_, record) => record.status === "failed",
  run_now: (_, record, nowMs) => waitsForItsTime(record, iso(nowMs)),
};

/**
 * Returns a function that is true for tasks that an action can change. An index that is behind may list a task twice:
 * only the first one matches.
 */
function matcherFor(ports: MatchPorts, action: TaskAction): (record: TaskRecord) => boolean {
  const now = ports.clock.now();
  const seen = new Set<string>();
  return (record) => {
    if (!isKept(record, now) || isInternal(record) || seen.has(record.task_id)) return false;
    seen.add(record.task_id);
    return canChange[action](ports, record, now);
  };
}

/**
 * Returns all tasks that match a filter and that the action can change: for a cancel those that have not ended and are
 * cancellable, for a retry those that have failed, also discarded ones; for a run-now those that wait for their time.
 * @throws Problem `invalid_input` when the filter's time span has more than `maxTasks`
 */
export async function matchTasksByFilter(
  ports: MatchPorts,
  tenantId: string,
  action: TaskAction,
  filter: TaskFilter,
  sum: ReadSoFar = { read: 0 },
): Promise<TaskRecord[]> {
  const matches = matcherFor(ports, action);
  const now = ports.clock.now();
  const { createdAfter, createdBefore } = filter;
  const all: TaskRecord[] = [];
  let from: string | undefined;
  do {
    // Without the filter's other fields, which would let a page read any number of entries.
    const page = await ports.records.list({ tenantId, createdAfter, createdBefore, limit: pageSize, from });
    sum.read += page.items.length;
    if (sum.read > maxTasks) throw tooMany();
    all.push(...page.items.filter((record) => isSelected(filter, record, now) && matches(record)));
    from = page.next;
  } while (from !== undefined);
  return all;
}

const tooMany = () =>
  new Problem(
    "invalid_input",
    `filter: its time span has more than ${maxTasks} tasks, the maximum for one operation. ` +
      "Narrow it with created_after and created_before.",
    { errors: [{ path: "/filter", message: `expected a time span with at most ${maxTasks} tasks` }] },
  );

/**
 * Returns those of the tenant's tasks with the given ids that the action can change.
 * @param taskIds At most 100.
 */
export async function matchTasksByIds(
  ports: MatchPorts,
  tenantId: string,
  action: TaskAction,
  taskIds: readonly string[],
): Promise<TaskRecord[]> {
  const matches = matcherFor(ports, action);
  const found = await ports.records.getMany(taskIds.map((task_id) => ({ tenant_id: tenantId, task_id })));
  return found.filter((record) => record !== undefined).filter(matches);
}
