import { isInternal } from "../../src/core/model/internal-names.ts";
import type { TaskRecord } from "../../src/core/model/record.ts";
import type { Life } from "./lives.ts";
import { portsFor } from "./ports.ts";
import { serve } from "./serve.ts";
import type { World } from "./world.ts";

/** The table loses the record of a dead letter, as one that is restored to an earlier time. An operator then has the DLQ compared with it. */
export function loseOne(world: World): void {
  const { table, witness, dice, story, time } = world;
  const found = [...witness.lives.values()].filter(hasNoHistory).flatMap(({ tenantId, taskId }) => {
    const record = table.read({ tenant_id: tenantId, task_id: taskId });
    return record !== undefined && canBeLost(record) && hasLetter(record, time.now) ? [record] : [];
  });
  const [first, ...others] = found;
  if (first === undefined) return;
  const record = dice.pick([first, ...others]);
  story.tell(time.now, "DISASTER", () => `the table loses ${story.name(record.task_id)}`);
  table.forget(record);
  witness.lost(record);
  time.after(dice.spread(100, 60_000), () => void recover(world, record));
}

/** A letter does not tell of earlier rounds, of attempts that slept, of children and of parents. */
const canBeLost = (record: TaskRecord): boolean =>
  record.buried_at !== undefined &&
  record.round === 1 &&
  record.attempts === record.attempts_total &&
  record.family_state === undefined &&
  record.parent_id === undefined &&
  record.unique_key === undefined &&
  !isInternal(record);

/** A DLQ keeps a letter for 14 days. Until the last of them, a sweep has the time to find it. */
const hasLetter = ({ dead_letter_at: diedAt = "" }: TaskRecord, nowMs: number): boolean =>
  nowMs - Date.parse(diedAt) < 13 * 86_400_000;

/** What a lost task's attempts have stored and submitted cannot be told from its letter. */
const hasNoHistory = ({ steps, children }: Life): boolean =>
  steps.called.size + steps.stored.size + steps.states.size + steps.signals.size + children.size === 0;

async function recover(world: World, { priority, tenant_id, task_id }: TaskRecord): Promise<void> {
  const { core, story } = world;
  for (let tries = 0; tries < 50; tries++) {
    const what = () => `recover the letters of ${priority}, of which ${story.name(task_id)}`;
    const answer = await serve(world, "control", tenant_id, what, async (invocation) => {
      await core.requestSweep.requestSweep(portsFor(world, invocation), priority, "correlation");
    });
    if (answer.got === "value") return;
    await new Promise<void>((resolve) => world.time.after(60_000, resolve));
  }
}
