import { client, retry } from "./clients.ts";
import { type Core, realCore } from "./core.ts";
import { Dice } from "./dice.ts";
import { EventSources } from "./event-source.ts";
import { SimQueues } from "./queues.ts";
import { Scheduler } from "./scheduler.ts";
import { Schedules } from "./schedules.ts";
import { Story } from "./story.ts";
import { Table } from "./table.ts";
import { judge } from "./verdict.ts";
import { drawWeather, Outages, services, useUp } from "./weather.ts";
import { Witness } from "./witness.ts";
import type { World } from "./world.ts";

/** Happenings after which a world counts as never coming to rest. */
const mostHappenings = 60_000;

/** What came of one seed. */
export interface Simulated {
  seed: number;
  violations: { text: string; taskId: string | undefined }[];
  /** The story's lines; empty when it was not asked for. */
  story: string[];
  digest: string;
  tasks: number;
  attempts: number;
  happenings: number;
}

/**
 * Lets a world of clients, workers and faults run until nothing is left to happen, and checks the contract's promises on the
 * way and at the end. The same seed gives the same world.
 */
export async function simulate(seed: number, { core = realCore as Core, tell = false } = {}): Promise<Simulated> {
  const world = newWorld(seed, core, tell);
  const { dice, time, witness, story } = world;
  story.tell(time.now, "weather", () =>
    JSON.stringify(world.weather, (_, value) => (typeof value === "number" ? Number(value.toPrecision(2)) : value)),
  );
  const clients = dice.int(1, dice.chance(0.2) ? 12 : 5);
  for (let i = 0; i < clients; i++) void client(world);
  planDisasters(world);
  const rested = await time.run(mostHappenings, () => witness.violations.length > 0);
  if (witness.violations.length === 0) {
    if (rested) judge(world);
    else witness.violated("it never comes to rest");
  }
  return {
    seed,
    violations: witness.violations,
    story: story.lines,
    digest: story.digest(),
    tasks: witness.lives.size,
    attempts: witness.runs.count,
    happenings: time.count,
  };
}

function newWorld(seed: number, core: Core, tell: boolean): World {
  const dice = new Dice(seed);
  const time = new Scheduler(dice);
  const theme = dice.chance(0.6) ? "mixed" : dice.pick(["long", "battered"] as const);
  const weather = drawWeather(dice, theme);
  const world = { seed, core, dice, time, theme, weather, outages: new Outages() } as World;
  world.story = new Story(tell, time.now);
  world.processes = { living: new Set(), started: 1 };
  world.table = new Table(core, time);
  world.queues = new SimQueues(time, dice, weather, (queue, atMs) => world.sources.wake(queue, atMs));
  world.schedules = new Schedules(world);
  world.sources = new EventSources(world);
  world.witness = new Witness(world);
  return world;
}

/** What befalls the whole world: services that are down, workers that are stopped, restarts; and what strangers send. */
function planDisasters(world: World): void {
  const { dice, time, outages, story, weather, theme, processes, queues } = world;
  const someTimes = (probability: number, what: () => void) => {
    while (dice.chance(probability)) time.after(dice.spread(1, 7_200_000), () => useUp(weather, true) && what());
  };
  someTimes(0.2, () => {
    const what = dice.pick(["workers", ...services] as const);
    const ms = dice.spread(1000, 2_400_000);
    story.tell(time.now, "DISASTER", () => `${what} down for ${ms} ms`);
    outages.begin(what, time.now + ms);
  });
  someTimes(theme === "battered" ? 0.6 : 0.05, () => {
    const ms = theme === "battered" ? dice.int(10_000, 120_000_000) : dice.spread(10_000, 2_000_000);
    story.tell(time.now, "DISASTER", () => `workers die as they start for ${ms} ms`);
    outages.begin("bundle", time.now + ms);
  });
  someTimes(0.1, () => {
    story.tell(time.now, "DISASTER", () => "everything restarts");
    for (const process of processes.living) process.kill("restarts");
  });
  someTimes(0.05, () => standSomewhere(world));
  if (theme === "long")
    for (let i = dice.int(0, 4); i > 0; i--) time.after(dice.int(5000, 300_000), () => standSomewhere(world));
  someTimes(0.1, () => world.witness.purged(world.table.purge()));
  someTimes(0.05, () =>
    queues.put(dice.pick(["critical", "normal"]), dice.pick(["", "no JSON", '{"schema_version":"2.0"}'])),
  );
  if (dice.chance(0.5)) planRetries(world);
}

/** A machine stands still, in the middle of whatever it does. */
function standSomewhere({ dice, processes }: World): void {
  const standing = [...processes.living].filter(() => dice.chance(0.5));
  for (const process of standing) process.stand(dice.pick([dice.spread(1000, 200_000), dice.int(60_000, 200_000)]));
}

/** Operators who retry what failed, some of them twice at once. */
function planRetries(world: World): void {
  const { dice, time, witness } = world;
  const rounds = dice.int(1, 3);
  for (let i = 0; i < rounds; i++) {
    time.after(dice.spread(1000, 20_000_000), () => {
      for (const { tenantId, taskId } of witness.lives.values()) {
        const key = { tenant_id: tenantId, task_id: taskId };
        if (world.table.read(key)?.status !== "failed") continue;
        for (let calls = dice.int(0, 2); calls > 0; calls--) time.after(dice.int(0, 100), () => void retry(world, key));
      }
    });
  }
}
