import type { Attempt, TaskRecord } from "../../src/core/model/record.ts";
import { tiers } from "../../src/core/model/words.ts";
import { isBeside } from "../../src/core/pipeline/send/parts.ts";
import type { Part } from "../../src/core/ports/tasks.ts";
import type { World } from "./world.ts";

const dayMs = 86_400_000;

/** A shorter wait has its message in a queue. */
const longestDelayMs = 900_000;

/** While a task is open, what is beside its record is kept as long as the record. */
export function judgeKept(world: World): void {
  const { core, table, time, witness } = world;
  for (const { tenantId, taskId, createdAt } of witness.lives.values()) {
    const record = table.read({ tenant_id: tenantId, task_id: taskId });
    if (record === undefined || record.created_at !== createdAt || !core.record.isKept(record, time.now)) continue;
    if (core.record.hasEnded(record, time.now) || !isSettled(world, record)) continue;
    for (const [name, until] of besideOf(world, record)) {
      if (until !== undefined && until < record.purge_at)
        witness.violated(`kept: its ${name} is deleted before its record, and it is ${record.status}`, taskId);
    }
  }
}

/** False for a task on its way into a line: its message comes again when its worker has died, and stores the entry anew. */
const isSettled = ({ lines, queues }: World, { line, task_id }: TaskRecord): boolean =>
  line === undefined ||
  (lines.keptUntil(line, task_id) !== undefined && !tiers.some((tier) => queues.hasMessage(tier, task_id)));

/** The items beside a record, and the time until which each is kept, in epoch seconds. Undefined: there is none. */
function besideOf({ table, uniqueKeys, lines, time }: World, record: TaskRecord): [string, number | undefined][] {
  const { unique_key, input_part: input, line } = record;
  const partOf = (part: Part): [string, number | undefined] => [part, table.purgeAtOf(record, part)];
  const stacksOf = (attempts: readonly Attempt[]) =>
    attempts.filter(isBeside).map(({ round, number }) => partOf(`stack#${round}#${number}`));
  const beside = stacksOf(record.history);
  for (let round = 1; round < record.round; round++) {
    const earlier = table.loadPart(record, `round#${round}`) as Attempt[] | undefined;
    beside.push(partOf(`round#${round}`), ...stacksOf(earlier ?? []));
  }
  if (input !== undefined) beside.push(partOf(`input#${input}`));
  if (unique_key !== undefined) {
    const key = { ...record, unique_key };
    const isHolder = uniqueKeys.peek(key)?.task_id === record.task_id;
    if (isHolder) beside.push(["key", uniqueKeys.purgeAtOf(key)]);
  }
  if (line !== undefined) beside.push([`entry in ${line}`, lines.keptUntil(line, record.task_id)]);
  // The message is stored after the change that begins a wait; a debounced submit stores none.
  const hasRested = table.changedAt(record) + dayMs < time.now && record.replaced === undefined;
  const waits = record.status === "processing" || Date.parse(record.due_at) > time.now + longestDelayMs;
  if (hasRested && waits) beside.push(partOf("envelope"));
  return beside;
}
