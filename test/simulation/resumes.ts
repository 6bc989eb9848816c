import { guardMs } from "../../src/core/extras/limits/breaker.ts";
import { pauseName } from "../../src/core/model/wait-queue.ts";
import type { Identity } from "../../src/core/model/words.ts";
import { pause as wait } from "./batches.ts";
import { callSubmit, identities } from "./clients.ts";
import { actOn } from "./flow-operators.ts";
import type { Step } from "./plans.ts";
import { resumedType, type TypePause } from "./resume-laws.ts";
import type { World } from "./world.ts";

const forAll: TypePause = { scope: "type", type: resumedType };
const forAcme: TypePause = { ...forAll, tenantId: "acme" };

const [ann, , eve] = identities;

/** Operators look at what is paused this often, in milliseconds. */
const lookMs = 60_000;

/**
 * A small world: a type is paused, its tasks wait, and after the resume all of a tenant's fail, while another tenant's
 * complete or fail, too. Operators resume what stops itself, until nothing waits.
 */
export async function failAfterResumes(world: World): Promise<void> {
  const { dice } = world;
  const target = dice.chance(0.5) ? forAll : forAcme;
  const ends: Step[] = [{ do: "fail", kind: dice.chance(0.7) ? "permanent" : "transient" }];
  const isWell = dice.chance(0.5);
  for (let rounds = dice.int(1, 3); rounds > 0; rounds--) {
    while (!(await actOn(world, "pause", target))) await wait(world, dice.spread(10, 10_000));
    // Few, so that the next resume meets counts that are not full; or more than a row.
    await submitMany(world, ann, dice.chance(0.4) ? dice.int(3, 12) : dice.int(50, 90), ends);
    await submitMany(world, eve, dice.int(0, 10), isWell ? [] : ends);
    await resume(world, target);
    await wait(world, dice.spread(10_000, 200_000));
  }
  await resumeAllThatStops(world, target);
}

async function submitMany(world: World, identity: Identity, count: number, steps: Step[]): Promise<void> {
  const { dice } = world;
  for (let n = 0; n < count; n++) {
    const pad = `m${dice.int(1, 1_000_000_000)}`;
    const input = { attempts: [[{ do: "sleep", ms: dice.int(1, 80), deaf: false }, ...steps]], pad };
    await callSubmit(world, identity, { type: resumedType, input, max_attempts: 2 }, undefined);
  }
}

async function resume(world: World, target: TypePause): Promise<void> {
  for (let done = false; !done; ) {
    world.witness.resumes.resuming(target);
    done = await actOn(world, "resume", target);
    if (!done) await wait(world, world.dice.spread(10, 10_000));
  }
}

async function resumeAllThatStops(world: World, target: TypePause): Promise<void> {
  for (let sinceMs = 0; sinceMs <= guardMs + lookMs; sinceMs += lookMs) {
    await wait(world, lookMs);
    for (const one of [target, forAcme, { ...forAll, tenantId: eve.tenantId }]) {
      if ((await world.flowSettings.find(pauseName(one))) === undefined) continue;
      await resume(world, target === forAll ? forAll : one);
      sinceMs = 0;
    }
  }
}
