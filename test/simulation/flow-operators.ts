import { guardMs } from "../../src/core/extras/limits/guard.ts";
import { type PauseTarget, pauseName } from "../../src/core/model/line.ts";
import { pause as wait } from "./batches.ts";
import { flowPortsFor, portsFor } from "./ports.ts";
import { serve } from "./serve.ts";
import type { World } from "./world.ts";

const targets: readonly [PauseTarget, ...PauseTarget[]] = [
  { scope: "tier", tier: "normal" },
  { scope: "type", type: "placed" },
  { scope: "type", type: "quick", tenantId: "acme" },
  { scope: "tenant", tenantId: "globex" },
];

const tenants = ["acme", "globex"];

/** Operators who pause and resume, each something of its own. Each resumes in the end. */
export function operate(world: World): void {
  for (const target of targets) if (world.dice.chance(0.5)) void operateOn(world, target);
}

async function operateOn(world: World, target: PauseTarget): Promise<void> {
  const { dice, witness } = world;
  for (let times = dice.int(1, 2); times > 0; times--) {
    await wait(world, dice.spread(1, 30_000));
    const paused = await actOn(world, "pause", target);
    if (paused) witness.flow.paused(target);
    await wait(world, dice.chance(0.1) ? dice.spread(60_000, 20 * 86_400_000) : dice.spread(1, 600_000));
    witness.flow.resuming(target);
    for (let tries = 1; !(await actOn(world, "resume", target)); tries++)
      await wait(world, dice.spread(10, 60_000 * tries));
    if (target.scope === "type") await resumeWhatStopsItself(world, target);
  }
}

/** A type whose attempts all failed after its resume is paused again by itself: operators look until its guard has ended. */
async function resumeWhatStopsItself(world: World, target: PauseTarget): Promise<void> {
  for (let guardedMs = 0; guardedMs <= guardMs + lookMs; guardedMs += lookMs) {
    await wait(world, lookMs);
    // After a resume for all tenants, it may be paused for one of them.
    for (const stopped of [target, ...tenants.map((tenantId) => ({ ...target, tenantId }))]) {
      if ((await world.flowSettings.find(pauseName(stopped))) === undefined) continue;
      while (!(await actOn(world, "resume", stopped))) await wait(world, world.dice.spread(10, 60_000));
      guardedMs = 0;
    }
  }
}

/** Operators look at what is paused this often, in milliseconds. */
const lookMs = 60_000;

export async function actOn(world: World, verb: "pause" | "resume", target: PauseTarget): Promise<boolean> {
  const { core } = world;
  const what = () => `${verb} ${JSON.stringify(target)}`;
  const answer = await serve(world, "control", "acme", what, async (invocation) => {
    const flow = flowPortsFor(world, invocation);
    // An operator sees what came of a write without an answer, and a late try of it too.
    const flowSettings = Object.assign(Object.create(flow.flowSettings), {
      put: world.flowSettings.put.bind(world.flowSettings),
      remove: world.flowSettings.remove.bind(world.flowSettings),
    }) as typeof flow.flowSettings;
    const ports = { ...portsFor(world, invocation), ...flow, flowSettings };
    const manage = core.manageFlow;
    if (verb === "pause") await manage.pause(ports, target, "olga");
    else await manage.resume(ports, target, target.scope === "tier" ? target.tier : "normal", "olga");
  });
  return answer.got === "value";
}
