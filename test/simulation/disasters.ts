import { retry } from "./clients.ts";
import { judgeKept } from "./kept-laws.ts";
import { loseOne } from "./lose-dead-letters.ts";
import { mend } from "./mend.ts";
import { services, useUp } from "./weather.ts";
import type { World } from "./world.ts";

/** What befalls the whole world: services that are down, workers that are stopped, restarts; and what strangers send. */
export function planDisasters(world: World): void {
  const { dice, time, outages, story, weather, theme, processes, queues, witness } = world;
  // Sleeps last for days.
  const mostMs = theme === "steps" ? 4_000_000_000 : 7_200_000;
  const someTimes = (probability: number, what: () => void) => {
    while (dice.chance(probability)) time.after(dice.spread(1, mostMs), () => useUp(weather, true) && what());
  };
  someTimes(0.2, () => {
    const what = dice.pick(["workers", ...services] as const);
    const ms = dice.spread(1000, 2_400_000);
    story.tell(time.now, "DISASTER", () => `${what} down for ${ms} ms`);
    outages.begin(what, time.now + ms);
  });
  someTimes(0.02, () => {
    const ms = dice.int(3_600_000, 36_000_000);
    story.tell(time.now, "DISASTER", () => `the table down for ${ms} ms`);
    outages.begin("table", time.now + ms);
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
  planStands(world);
  someTimes(0.1, () => purge(world));
  for (let i = theme === "steps" && dice.chance(0.3) ? dice.int(1, 8) : 0; i > 0; i--) {
    time.after(dice.int(0, 100 * 86_400_000), () => purge(world));
  }
  someTimes(0.05, () => {
    witness.garbage += 1;
    queues.put(dice.pick(["critical", "normal"]), dice.pick(["", "no JSON", '{"schema_version":"2.0"}']));
  });
  if (dice.chance(0.2)) time.after(dice.spread(1000, mostMs), () => loseOne(world));
  if (dice.chance(0.5)) planRetries(world);
}

/** Machines that stand still, at times when the tasks of the theme are at work. */
function planStands(world: World): void {
  const { dice, time, theme, weather } = world;
  for (let i = theme === "long" ? dice.int(0, 4) : 0; i > 0; i--) {
    time.after(dice.int(5000, 300_000), () => standSomewhere(world));
  }
  for (let i = theme === "steps" && dice.chance(0.3) ? dice.int(1, 6) : 0; i > 0; i--) {
    time.after(dice.spread(100, 100_000), () => useUp(weather, true) && standSomewhere(world));
  }
  for (let i = theme === "late" ? dice.int(1, 6) : 0; i > 0; i--) {
    time.after(dice.spread(1000, 300_000), () => standSomewhere(world));
  }
}

/** The table deletes what is past its end. */
export function purge(world: World): void {
  const { time, table, entries, uniqueKeys, lists, witness } = world;
  judgeKept(world);
  witness.purged(table.purge());
  lists.purge(Math.floor(time.now / 1000));
  for (const { key, holder } of uniqueKeys.purge(Math.floor(time.now / 1000))) witness.unique.forgotten(key, holder);
  witness.steps.purged(entries.purge(time.now));
}

/** A machine stands still, in the middle of whatever it does. */
function standSomewhere({ dice, processes }: World): void {
  const standing = [...processes.living].filter(() => dice.chance(0.5));
  for (const process of standing) process.stand(dice.pick([dice.spread(1000, 200_000), dice.int(60_000, 200_000)]));
}

/** Operators who retry what failed, some of them twice at once. */
function planRetries(world: World): void {
  const { dice, time, witness, theme } = world;
  const rounds = dice.int(1, 3);
  const mostMs = theme === "steps" ? 6_000_000_000 : 20_000_000;
  for (let i = 0; i < rounds; i++) {
    time.after(dice.spread(1000, mostMs), () => {
      for (const { tenantId, taskId } of witness.lives.values()) {
        const key = { tenant_id: tenantId, task_id: taskId };
        if (world.table.read(key)?.status !== "failed") continue;
        for (let calls = dice.int(0, 2); calls > 0; calls--)
          time.after(dice.int(0, 100), () => void (dice.chance(0.3) ? mend : retry)(world, key));
      }
    });
  }
}
