import type { Identity } from "../../src/core/model/words.ts";
import { pause as wait } from "./batches.ts";
import { callSubmit, identities } from "./clients.ts";
import type { Step } from "./plans.ts";
import type { World } from "./world.ts";

const [ann, , eve] = identities;

/** A small world: many tasks at once for few places, in a tier that is behind. */
export async function submitBursts(world: World): Promise<void> {
  const { dice } = world;
  for (let rounds = dice.int(1, 3); rounds > 0; rounds--) {
    await submitMany(world, ann, dice.int(3, 25));
    await submitMany(world, eve, dice.int(0, 8));
    await wait(world, dice.spread(1_000, 600_000));
  }
}

async function submitMany(world: World, identity: Identity, count: number): Promise<void> {
  const { dice } = world;
  const keys = dice.int(1, 2);
  // Successors come where a line has tasks for longer than its worker's share.
  const tasks = world.shareMs === undefined ? count : 3 * count;
  for (let n = 0; n < tasks; n++) {
    const way: Step[] = [{ do: "sleep", ms: dice.spread(1, 6_000), deaf: dice.chance(0.5) }];
    const fails: Step[] = [...way, { do: "fail", kind: "transient" }];
    const attempts = dice.chance(0.2) ? [fails, way] : [way];
    const input = { attempts, key: `k${dice.int(1, keys)}`, pad: `b${dice.int(1, 1_000_000_000)}` };
    await callSubmit(world, identity, { type: "placed", input }, undefined);
  }
}
