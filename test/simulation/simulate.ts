import type { TaskRecord } from "../../src/core/model/record.ts";
import type { FlowSetting } from "../../src/core/ports/flow.ts";
import { MemoryAuditLog } from "../../src/memory/audit.ts";
import { MemoryBlobList } from "../../src/memory/blob-list.ts";
import { MemoryBlobs } from "../../src/memory/blobs.ts";
import { MemoryFamilies } from "../../src/memory/families.ts";
import { MemoryFlowSettings } from "../../src/memory/flow-settings.ts";
import { MemoryLists } from "../../src/memory/lists.ts";
import { MemoryUniqueKeys } from "../../src/memory/unique-keys.ts";
import type { BreakerLaws } from "./breaker-laws.ts";
import { submitBursts } from "./bursts.ts";
import { client, decide } from "./clients.ts";
import { type Core, realCore } from "./core.ts";
import { Dice } from "./dice.ts";
import { planDisasters } from "./disasters.ts";
import { Entries } from "./entries.ts";
import { EventSources } from "./event-source.ts";
import type { Feature } from "./features.ts";
import { fire } from "./fire.ts";
import { breakKeys, limitKeys, listKeys, operate, repaceKeys, resizeKeys } from "./flow-operators.ts";
import { JobLaws } from "./job-laws.ts";
import { runJobs } from "./jobs.ts";
import { meetAtKeys } from "./key-clients.ts";
import { gatherInLists } from "./list-clients.ts";
import { NoticeStage } from "./notices.ts";
import { portsFor } from "./ports.ts";
import { SimQueues } from "./queues.ts";
import { DailyRescue } from "./rescue.ts";
import { failAfterResumes } from "./resumes.ts";
import { Scheduler } from "./scheduler.ts";
import { Schedules } from "./schedules.ts";
import { SeenLines } from "./seen-lines.ts";
import { Story } from "./story.ts";
import { Table } from "./table.ts";
import { judge } from "./verdict.ts";
import { drawWeather, type GivenTheme, Outages, type Theme } from "./weather.ts";
import { waitForWeeks } from "./weeks.ts";
import { Witness } from "./witness.ts";
import type { World } from "./world.ts";

/** Happenings after which a world counts as never coming to rest; one in which a line is looked at for weeks. */
const mostHappenings = 60_000;
const mostOfWeeks = 200_000;

/** What came of one seed. */
export interface Simulated {
  seed: number;
  violations: { text: string; taskId: string | undefined }[];
  /** The story's lines; empty when it was not asked for. */
  story: string[];
  tasks: number;
  attempts: number;
  happenings: number;
  features: Feature[];
}

/**
 * Lets a world of clients, workers and faults run until nothing is left to happen, and checks the contract's promises on the
 * way and at the end. The same seed gives the same world.
 * @param theme The subject of the world. Default: the seed decides.
 */
export async function simulate(
  seed: number,
  { core = realCore as Core, tell = false, theme: given = undefined as GivenTheme | undefined } = {},
): Promise<Simulated> {
  const world = newWorld(seed, core, tell, given);
  const { time, witness, story, theme } = world;
  story.tell(time.now, "weather", () =>
    JSON.stringify(world.weather, (_, value) => (typeof value === "number" ? Number(value.toPrecision(2)) : value)),
  );
  if (theme === "keys") meetAtKeys(world);
  else if (theme === "lists") gatherInLists(world);
  else if (theme === "resumes") void failAfterResumes(world);
  else if (theme === "handlers") runJobs(world);
  else if (theme === "weeks") void waitForWeeks(world);
  else if (theme === "behind") void submitBursts(world);
  else beginAll(world, seed);
  const rested = await time.run(
    theme === "weeks" || world.strict ? mostOfWeeks : mostHappenings,
    () => witness.violations.length > 0,
  );
  if (witness.violations.length === 0) {
    if (rested) await judge(world);
    else witness.violated("it never comes to rest");
  }
  return {
    seed,
    violations: witness.violations,
    story: story.lines,
    tasks: witness.lives.size,
    attempts: witness.runs.count,
    happenings: time.count,
    features: featuresOf(world),
  };
}

function beginAll(world: World, seed: number): void {
  const { dice, theme } = world;
  const clients = dice.int(1, dice.chance(["crowded", "calm", "flow"].includes(theme) ? 0.6 : 0.2) ? 16 : 8);
  for (let i = 0; i < clients; i++) void client(world);
  if (theme === "flow" || (theme === "late" && dice.chance(0.4))) operate(world);
  if (theme === "flow") void limitKeys(world, seed);
  if (theme === "flow") void breakKeys(world, seed);
  if (theme === "flow") void listKeys(world, seed);
  if (theme === "flow") void resizeKeys(world, seed);
  if (theme === "flow") void repaceKeys(world, seed);
  planDisasters(world);
}

/** All features of a world that has come to rest. */
function featuresOf({ witness, schedules }: World): Feature[] {
  const { counts } = witness.steps;
  return witness.features.with({
    steps: counts.step > 0,
    tries: counts.try > 0,
    sleeps: counts.nap > 0,
    signals: counts.answered > 0,
    checkpoints: counts.state > 0,
    "one-offs": schedules.count > 0,
    pauses: witness.flow.pauses > 0,
    deaths: witness.costs.deaths > 0,
  });
}

/** In every fourth world processes read each breaker by itself, as where tasks of many tenants fail. */
function settingsOf(
  seed: number,
  onPut: (setting: FlowSetting) => void,
  breakers: () => Pick<BreakerLaws, "changed">,
): MemoryFlowSettings {
  const settings = new MemoryFlowSettings();
  const put = settings.put.bind(settings);
  settings.put = (setting) => {
    onPut(setting);
    return put(setting);
  };
  const { countFailure, remove } = settings;
  settings.countFailure = async (name, ...how) => {
    const breaker = await countFailure.call(settings, name, ...how);
    breakers().changed(name, breaker);
    return breaker;
  };
  settings.remove = async (name) => {
    await remove.call(settings, name);
    breakers().changed(name, undefined);
  };
  const some = settings.some.bind(settings);
  if (seed % 4 === 1) settings.some = () => some(1);
  return settings;
}

function newWorld(seed: number, core: Core, tell: boolean, given: GivenTheme | undefined): World {
  const dice = new Dice(seed);
  const time = new Scheduler(dice);
  const drawn = dice.chance(0.5)
    ? "mixed"
    : dice.pick([
        "long",
        "battered",
        "battered",
        "crowded",
        "crowded",
        "calm",
        "steps",
        "steps",
        "steps",
        "flow",
        "flow",
      ] as const);
  const theme = given === "strict" ? "flow" : (given ?? drawn);
  const weather = drawWeather(dice, theme);
  const isSmall = ["keys", "resumes", "behind", "weeks", "handlers", "lists"].includes(theme);
  const events = !isSmall && dice.chance(0.2);
  const hasReceivers = theme === "receivers";
  const heard = new Set(!isSmall && dice.chance(0.3) ? ["acme/bob"] : []);
  // In some worlds the tasks of all limits' lines wait in shards, in a third of them beside places of their own items.
  const sharded = [8, 11, 14].includes(seed % 16);
  // In every other world whose tier is behind, workers have had their share soon, and successors come in time.
  const isShort = theme === "behind" && seed % 2 === 1;
  const story = new Story(tell, time.now);
  const table = new Table(core, time);
  const troubles = () => (world.outages.count > 0 ? Number.POSITIVE_INFINITY : weather.used);
  const world: World = {
    core,
    dice,
    time,
    theme,
    weather,
    outages: new Outages(),
    story,
    processes: { living: new Set(), started: 1 },
    table,
    queues: new SimQueues(time, dice, weather, {
      wake: (queue, atMs) => sources.wake(queue, atMs),
      behindMs: behindOf(dice, theme, isShort),
    }),
    families: new MemoryFamilies(),
    lines: new SeenLines(() => world.witness.flow, {
      apart: seed % 4 === 2,
      sharded,
      split: seed % 4 === 3,
      turns: {
        waits: (line, task) => world.witness.turns.waits(line, task),
        took: (line, task) => world.witness.turns.took(line, task),
      },
    }),
    maxInOne: sharded ? 0 : undefined,
    shareMs: isShort ? 3_000 : undefined,
    // In every fourth world each place of a line is an item of its own.
    bucketSize: seed % 4 === 3 ? 1 : undefined,
    strict: given === "strict",
    submitsCancel: seed % 7 !== 4,
    restarts: new Set(seed % 7 === 3 ? ["existing", "replace"] : seed % 7 === 4 ? ["existing"] : []),
    flowSettings: settingsOf(
      seed,
      (setting) => world.witness.resumes.put(setting),
      () => world.witness.flow.breakers,
    ),
    audit: new MemoryAuditLog(),
    entries: new Entries(),
    blobs: new MemoryBlobs({ now: () => time.now, after: () => () => {} }),
    blobList: new MemoryBlobList(),
    uniqueKeys: new MemoryUniqueKeys(),
    lists: new MemoryLists(),
    schedules: new Schedules(time, dice, weather, (...firing) => fire(world, ...firing)),
    events,
    heard,
    stage: new NoticeStage(hasReceivers),
    portsFor,
    jobs: undefined as unknown as JobLaws,
    witness: new Witness(
      { core, dice, time, story, table, troubles },
      (record) => isTold(record, events || hasReceivers, heard),
      hasReceivers,
      (also) => ["mixed", "steps", "keys", also].includes(theme) && weather.used === 0 && world.outages.count === 0,
      (name) => world.queues.isVisible(name),
      () => daily.orphaned(),
    ),
  };
  world.jobs = new JobLaws(world);
  world.witness.turns.turns = { of: (line) => world.lines.turnsOf(line) };
  world.witness.turns.onHeld = (record) => void decide(world, record);
  world.witness.flow.behindMs = world.queues.behindMs;
  const sources = new EventSources(world);
  const daily = new DailyRescue(world);
  return world;
}

/** Milliseconds by which the tiers of a world are behind. */
function behindOf(dice: Dice, theme: Theme, isShort: boolean): number {
  if (theme !== "behind") return 0;
  return isShort ? dice.int(5_000, 15_000) : dice.int(30_000, 300_000);
}

/** True for a task whose end has a subscriber. Nobody is told of Offload's own tasks. */
const isTold = (record: TaskRecord, events: boolean, heard: ReadonlySet<string>): boolean =>
  !record.type.startsWith("offload.") &&
  (events || record.callback !== undefined || heard.has(`${record.tenant_id}/${record.requested_by}`));
