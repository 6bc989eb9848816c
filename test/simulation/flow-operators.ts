import { guardMs } from "../../src/core/extras/limits/breaker.ts";
import { type PauseTarget, pauseName } from "../../src/core/model/wait-queue.ts";
import { pause as wait } from "./batches.ts";
import { shopType } from "./breaker-laws.ts";
import { callSubmit, identities, longestTurnSeconds } from "./clients.ts";
import { Dice } from "./dice.ts";
import { type KeyLimit, sizedType } from "./flow-laws.ts";
import { knownTypes } from "./handlers.ts";
import type { Step } from "./plans.ts";
import { flowPortsFor, portsFor } from "./ports.ts";
import { listedType, mostListed } from "./rate-laws.ts";
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
    const pauseMs = dice.chance(0.1) ? dice.spread(60_000, 20 * 86_400_000) : dice.spread(1, 600_000);
    await wait(world, world.strict ? Math.min(pauseMs, longestTurnSeconds * 1000) : pauseMs);
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

/** An operator who sets other places for one key, and takes them away or lets them end. In some worlds only. */
export async function limitKeys(world: World, seed: number): Promise<void> {
  if (seed % 5 !== 2) return;
  // Its own dice: other worlds stay as they were.
  const dice = new Dice(seed);
  const sets: KeyLimit[] = [];
  for (let times = dice.int(1, 3); times > 0; times--) {
    await wait(world, dice.spread(1, 30_000));
    const seconds = dice.chance(0.5) ? dice.int(5, 600) : undefined;
    const set = await limitKey(world, dice, sets, seconds);
    sets.push(set);
    // Tasks that come when every worker knows the limit, and perhaps its end.
    await wait(world, dice.pick([1, slackMs, slackMs + (seconds ?? 0) * 1000]));
    await submitSome(world, dice);
    await wait(world, dice.spread(1, 300_000));
    if (!dice.chance(0.5)) continue;
    set.endsMs = notAfter(set.endsMs, world.time.now);
    await actOnKey(world, dice, (manage, ports, type) => manage.clearKey(ports, type, "k1", olga));
    set.endedMs = notAfter(set.endedMs, world.time.now);
    await submitSome(world, dice);
  }
}

const olga = { tenantId: "acme", isAdmin: false, principal: "olga" };

const notAfter = (one: number | undefined, other: number): number => Math.min(one ?? other, other);

/** Sets places in the place of the earlier ones. */
async function limitKey(world: World, dice: Dice, earlier: readonly KeyLimit[], seconds: number | undefined) {
  const { witness, time } = world;
  const limit = dice.pick([1, 1, 3, 4]);
  for (const one of earlier) one.endsMs = notAfter(one.endsMs, time.now);
  const set = witness.flow.keyLimited("placed", olga.tenantId, "k1", limit);
  const change = { limit, expires_in_seconds: seconds };
  await actOnKey(world, dice, (manage, ports, type) => manage.limitKey(ports, type, "k1", change, olga));
  set.sureMs = time.now;
  for (const one of earlier) one.endedMs = notAfter(one.endedMs, time.now);
  if (seconds === undefined) return set;
  set.endsMs = set.fromMs + seconds * 1000 - skewMs;
  set.endedMs = set.sureMs + seconds * 1000 + skewMs;
  return set;
}

type KeyedType = Parameters<Manage["limitKey"]>[1];

/** The operator repeats an act until it is answered. */
async function actOnKey(
  world: World,
  dice: Dice,
  act: (manage: Manage, ports: FlowActPorts, type: KeyedType) => Promise<unknown>,
): Promise<void> {
  const type = knownTypes(world.core).get("placed") as KeyedType;
  while (!(await serveFlow(world, "the limit of k1", (manage, ports) => act(manage, ports, type))))
    await wait(world, dice.spread(10, 60_000));
}

/** Tasks of the key, more than it ever has places. */
async function submitSome(world: World, dice: Dice): Promise<void> {
  for (let n = dice.int(4, 8); n > 0; n--) {
    const attempts = [[{ do: "sleep", ms: dice.int(1_000, 9_000), deaf: true }]];
    const input = { attempts, key: "k1", pad: `l${dice.int(1, 1_000_000_000)}` };
    await callSubmit(world, identities[0], { type: "placed", input }, undefined);
  }
}

/** Tasks of one key whose service is down, beside those of another one. In some worlds only. */
export async function breakKeys(world: World, seed: number): Promise<void> {
  if (seed % 5 !== 3) return;
  const dice = new Dice(seed);
  for (let times = dice.int(1, 3); times > 0; times--) {
    await wait(world, dice.spread(1, 30_000));
    const fails = dice.int(2, 4);
    for (let n = dice.int(3, 7); n > 0; n--) {
      // Two at a time: only one of them may try.
      for (let both = 2; both > 0; both--) await submitTo(world, dice, "k1", [...failing(dice, fails), way(dice)]);
      if (dice.chance(0.7)) await submitTo(world, dice, "k2", [way(dice)]);
      // Some come when every worker knows what is open.
      await wait(world, dice.pick([1, 1, 12_000, slackMs]));
    }
  }
}

/** Tasks of keys with a list of rates, more than start at once. In some worlds only. */
export async function listKeys(world: World, seed: number): Promise<void> {
  if (seed % 11 !== 6) return;
  const dice = new Dice(seed);
  await wait(world, dice.spread(1, 30_000));
  for (let n = dice.int(9, mostListed); n > 0; n--) {
    await submitTo(world, dice, "k1", [way(dice)], listedType);
    if (dice.chance(0.3)) await submitTo(world, dice, "k2", [way(dice)], listedType);
    await wait(world, dice.pick([1, 1, 1, 500, 5_000, 40_000]));
  }
}

/** Tasks of one key whose inputs say other sizes from time to time, each size once. In some worlds only. */
export async function resizeKeys(world: World, seed: number): Promise<void> {
  if (seed % 5 !== 4) return;
  const dice = new Dice(seed);
  const sizes = [4, 1, 3, 2].slice(0, dice.int(2, 4));
  for (const size of dice.chance(0.5) ? sizes : sizes.reverse()) {
    world.witness.flow.sized(olga.tenantId, "k1", size);
    for (let n = dice.int(3, 8); n > 0; n--) {
      const attempts = [...(dice.chance(0.2) ? failing(dice, 2) : []), way(dice)];
      const input = { attempts, key: "k1", pad: `z${dice.int(1, 1_000_000_000)}`, size };
      await callSubmit(world, identities[0], { type: sizedType, input }, undefined);
    }
    // Clocks differ by less: the inputs of the next size are accepted later.
    await wait(world, dice.pick([3_000, 10_000, slackMs, slackMs]));
  }
}

/** Tasks of one key whose inputs say another rate from time to time, each once. In some worlds only. */
export async function repaceKeys(world: World, seed: number): Promise<void> {
  if (seed % 7 !== 5) return;
  const dice = new Dice(seed);
  const type = dice.pick(["paced", "pacedlist"] as const);
  const sizes = [4, 1, 3, 2].slice(0, dice.int(2, 4));
  for (const size of dice.chance(0.5) ? sizes : sizes.reverse()) {
    world.witness.flow.paced.sized(type, olga.tenantId, "k1", size);
    for (let n = dice.int(3, 7); n > 0; n--) {
      const attempts = [...(dice.chance(0.2) ? failing(dice, 2) : []), way(dice)];
      const input = { attempts, key: "k1", pad: `p${dice.int(1, 1_000_000_000)}`, size };
      await callSubmit(world, identities[0], { type, input }, undefined);
    }
    await wait(world, dice.pick([3_000, 10_000, slackMs, slackMs]));
  }
}

const failing = (dice: Dice, most: number): Step[][] =>
  Array.from({ length: dice.int(0, most) }, () => [...way(dice), { do: "fail", kind: "unavailable" }]);

const way = (dice: Dice): Step[] => [{ do: "sleep", ms: dice.int(1, 5_000), deaf: true }];

async function submitTo(world: World, dice: Dice, key: string, attempts: Step[][], type: string = shopType) {
  const input = { attempts, key, pad: `b${dice.int(1, 1_000_000_000)}` };
  await callSubmit(world, identities[0], { type, input }, undefined);
}

/** By then every worker knows a limit, also one whose process stood still, in milliseconds. */
const slackMs = 65_000;

/** Clocks differ by less than this, in milliseconds. */
const skewMs = 2_000;

type Manage = World["core"]["manageFlow"];
type FlowActPorts = Parameters<Manage["pause"]>[0];
type FlowAct = (manage: Manage, ports: FlowActPorts) => Promise<unknown>;

export async function actOn(world: World, verb: "pause" | "resume", target: PauseTarget): Promise<boolean> {
  return serveFlow(world, `${verb} ${JSON.stringify(target)}`, (manage, ports) =>
    verb === "pause"
      ? manage.pause(ports, target, "olga")
      : manage.resume(ports, target, target.scope === "tier" ? target.tier : "normal", "olga"),
  );
}

/** An act of an operator. Returns false when it was not answered. */
async function serveFlow(world: World, what: string, act: FlowAct): Promise<boolean> {
  const answer = await serve(
    world,
    "control",
    "acme",
    () => what,
    async (invocation) => {
      const flow = flowPortsFor(world, invocation);
      // An operator sees what came of a write without an answer, and a late try of it too.
      const flowSettings = Object.assign(Object.create(flow.flowSettings), {
        put: world.flowSettings.put.bind(world.flowSettings),
        remove: world.flowSettings.remove.bind(world.flowSettings),
      }) as typeof flow.flowSettings;
      const ports = { ...portsFor(world, invocation), ...flow, flowSettings };
      await act(world.core.manageFlow, ports);
    },
  );
  return answer.got === "value";
}
