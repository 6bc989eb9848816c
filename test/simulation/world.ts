import type { Core } from "./core.ts";
import type { Dice } from "./dice.ts";
import type { EventSources } from "./event-source.ts";
import type { Theme } from "./plans.ts";
import type { SimQueues } from "./queues.ts";
import type { Process, Scheduler } from "./scheduler.ts";
import type { Schedules } from "./schedules.ts";
import type { Story } from "./story.ts";
import type { Table } from "./table.ts";
import type { Outages, Weather } from "./weather.ts";
import type { Witness } from "./witness.ts";

/** One call of one of the functions: the unit that holds leases, and whose port calls belong together. */
export interface Invocation {
  kind: "submit" | "control" | "worker" | "redrive" | "fire";
  name: string;
  process: Process;
  /** Whose request it serves, where it serves one. */
  tenantId?: string;
  /** What is to be submitted, as JSON, where a client submits. */
  input?: string;
  /** How far this process's clock is off, in milliseconds. */
  skewMs: number;
  /** Until when trouble excuses slowness, in epoch milliseconds. */
  troubledUntil: number;
}

/** Everything there is in one simulation. */
export interface World {
  core: Core;
  dice: Dice;
  time: Scheduler;
  weather: Weather;
  theme: Theme;
  outages: Outages;
  story: Story;
  witness: Witness;
  table: Table;
  queues: SimQueues;
  schedules: Schedules;
  sources: EventSources;
  processes: { living: Set<Process>; started: number };
}
