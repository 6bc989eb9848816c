import { passing, pause } from "./batches.ts";
import { askControl, callSubmit, cancel, identities, retry } from "./clients.ts";
import { drawJob, jobSignal, jobType } from "./job-plans.ts";
import type { World } from "./world.ts";

/** Waits of clients between two tries of a request, in milliseconds. */
const mostPauseMs = 30_000;

/**
 * A small world of a few tasks that use all that a handler can: steps with tries, children that it awaits or spawns,
 * streams of signals, progress, and `onFailed`, while clients send signals, cancel and retry.
 */
export function runJobs(world: World): void {
  for (let jobs = world.dice.int(1, 3); jobs > 0; jobs--) void runJob(world, jobs);
}

async function runJob(world: World, number: number): Promise<void> {
  const { dice, time, table } = world;
  const plan = drawJob(dice);
  const body = { type: jobType, input: { attempts: [[plan]] }, max_attempts: dice.int(2, 6) };
  const key = await submitUntilAccepted(world, body, `job-${number}`);
  const reads = plan.groups.flat().filter((call) => call.do === "next").length;
  for (let signals = reads === 0 ? 0 : dice.int(0, reads + 1); signals > 0; signals--) {
    time.after(dice.spread(1, 200_000), () => void sendSignal(world, key, signals));
  }
  if (dice.chance(0.15)) time.after(dice.spread(1, 100_000), () => void cancel(world, key));
  for (let tries = dice.int(0, 3), atMs = 0; tries > 0; tries--) {
    atMs += dice.spread(1_000, 300_000);
    time.after(atMs, () => {
      if (table.read(key)?.status === "failed") void retry(world, key);
    });
  }
}

async function submitUntilAccepted(world: World, body: Record<string, unknown>, idempotencyKey: string) {
  for (;;) {
    const answer = await callSubmit(world, identities[0], body, idempotencyKey);
    if (answer.got === "value") return { tenant_id: answer.value.tenant_id, task_id: answer.value.task_id };
    await pause(world, world.dice.spread(10, mostPauseMs));
  }
}

/** Sends one body with one key until there is an answer, and sometimes again after it. */
async function sendSignal(world: World, key: { tenant_id: string; task_id: string }, number: number): Promise<void> {
  const { dice, core } = world;
  const signals = world.witness.life(key.task_id)?.steps.signals;
  const sent = signals?.get(jobSignal) ?? { bodies: new Set<string>(), accepted: undefined };
  signals?.set(jobSignal, { ...sent, bodies: sent.bodies.add(JSON.stringify({ number })) });
  for (let left = dice.chance(0.3) ? 2 : 1; left > 0; ) {
    const answer = await askControl(world, key, `signal ${number} to`, (ports, record) =>
      core.signal.signal(ports, record, jobSignal, { number }, `signal-${number}`),
    );
    if (answer.got === "value" || (answer.got === "problem" && !passing.has(answer.code))) left -= 1;
    await pause(world, dice.spread(10, mostPauseMs));
  }
}
