import type { TaskRecord } from "../../src/core/model/record.ts";
import { pause as wait } from "./batches.ts";
import { extend, identities, move, retry } from "./clients.ts";
import { purge } from "./disasters.ts";
import { actOn } from "./flow-operators.ts";
import { mend } from "./mend.ts";
import type { Step } from "./plans.ts";
import { pass } from "./rescue.ts";
import { drawMode, type Submit, submitOnce } from "./unique-clients.ts";
import type { World } from "./world.ts";

const daySeconds = 86_400;
const dayMs = daySeconds * 1000;

/** Days of a world, at most: of some waits of a month, and of a pause in between. */
const mostDays = 160;

const types = ["quick", "steps", "steps"] as const;

/**
 * A small world of months: tasks with unique keys sleep, wait for a retry or in the line of a pause for weeks. Meanwhile
 * clients extend, move and retry them, submit again with their keys, and the table deletes each day what is past its end.
 */
export async function waitForWeeks(world: World): Promise<void> {
  const { dice } = world;
  const type = dice.pick(types);
  const submits = Array.from({ length: dice.int(1, 3) }, () => drawSubmit(world, type));
  for (const one of submits) await submit(world, one);
  if (dice.chance(0.6)) void pauseForWeeks(world, type);
  for (let day = 1; day <= mostDays; day++) {
    await wait(world, dayMs - dice.int(0, 10_000));
    purge(world);
    const open = openTasks(world);
    if (open.length === 0) return;
    for (const record of open) if (dice.chance(0.12)) changeOne(world, record);
    if (dice.chance(0.1)) await submit(world, dice.pick([drawSubmit(world, type), ...submits]));
    await wait(world, 10_000);
    // Of the others, none may need it.
    void pass(
      world,
      openTasks(world).filter(({ line }) => line !== undefined),
    );
  }
}

function drawSubmit(world: World, type: string): Submit {
  const { dice, time } = world;
  const unique = { key: dice.pick(["unique-1", "unique-1", "unique-2"]), ...drawMode(world) };
  const input = { attempts: drawAttempts(world, type), pad: `m${dice.int(1, 1_000_000_000)}` };
  return {
    identity: identities[0],
    body: {
      ...{ type, input, unique },
      ...(unique.mode !== "debounce" && dice.chance(0.4) ? { delay_seconds: dice.int(1, 40) * daySeconds } : {}),
      retention_seconds: dice.chance(0.5) ? 60 : dice.int(1, 30) * daySeconds,
    },
    idempotencyKey: undefined,
    began: time.now,
    ids: new Map(),
    act: () => {},
  };
}

/** Attempts that wait for weeks, or fail before the next ones do. */
function drawAttempts({ dice }: World, type: string): Step[][] {
  const days = () => dice.int(1, 30);
  const naps = type === "steps" && dice.chance(0.7);
  const way: Step[] = naps ? [{ do: "nap", place: 0, seconds: days() * daySeconds }] : [];
  if (type === "steps" && dice.chance(0.4)) way.push({ do: "wait", name: "s1", seconds: days() * daySeconds });
  const ends: Step[] = [
    { do: "fail", kind: "transient" },
    { do: "fail", kind: "rate_limited", retryAfterSeconds: days() * daySeconds },
    { do: "fail", kind: "rate_limited", retryAfterSeconds: days() * daySeconds },
    { do: "fail", kind: "permanent" },
  ];
  const failing = ends.filter(() => dice.chance(0.35)).map((end) => [...way, end]);
  return [...failing, way];
}

async function submit(world: World, one: Submit): Promise<void> {
  while (!(await submitOnce(world, { ...one, began: world.time.now, ids: new Map() })))
    await wait(world, world.dice.int(100, 5000));
}

async function pauseForWeeks(world: World, type: string): Promise<void> {
  const { dice, witness } = world;
  const target = { scope: "type", type } as const;
  await wait(world, dice.int(1, 12 * daySeconds) * 1000);
  if (await actOn(world, "pause", target)) witness.flow.paused(target);
  // A line is looked at every quarter of an hour: few worlds have the time for months.
  await wait(world, (dice.chance(0.15) ? dice.int(41, 62) : dice.int(1, 4)) * dayMs);
  witness.flow.resuming(target);
  while (!(await actOn(world, "resume", target))) await wait(world, dice.int(1000, 60_000));
}

function changeOne(world: World, { tenant_id, task_id, status }: TaskRecord): void {
  const key = { tenant_id, task_id };
  if (status === "failed") void world.dice.pick([retry, retry, mend])(world, key);
  else void world.dice.pick([extend, extend, move])(world, key);
}

/** Tasks that go on, or may go on: also dead letters. */
function openTasks({ core, table, time, witness }: World): TaskRecord[] {
  const records = [...witness.lives.values()].map(({ tenantId, taskId }) =>
    table.read({ tenant_id: tenantId, task_id: taskId }),
  );
  return records.filter(
    (record): record is TaskRecord =>
      record !== undefined &&
      core.record.isKept(record, time.now) &&
      record.tenant_id === identities[0].tenantId &&
      (record.status === "failed" || !core.record.hasEnded(record, time.now)),
  );
}
