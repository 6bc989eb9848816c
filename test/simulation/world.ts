import type { SubmitPorts } from "../../src/core/pipeline/submit/submit-ports.ts";
import type { EndPorts } from "../../src/core/ports/extra.ts";
import type { Notice } from "../../src/core/ports/notify.ts";
import type { MemoryAuditLog } from "../../src/memory/audit.ts";
import type { MemoryBlobList } from "../../src/memory/blob-list.ts";
import type { MemoryBlobs } from "../../src/memory/blobs.ts";
import type { MemoryDeliveries, MemorySlowHosts } from "../../src/memory/deliveries.ts";
import type { MemoryFamilies } from "../../src/memory/families.ts";
import type { MemoryFlowSettings } from "../../src/memory/flow-settings.ts";
import type { MemoryLists } from "../../src/memory/lists.ts";
import type { MemoryReceivers } from "../../src/memory/receivers.ts";
import type { MemoryUniqueKeys } from "../../src/memory/unique-keys.ts";
import type { Core } from "./core.ts";
import type { Dice } from "./dice.ts";
import type { Entries } from "./entries.ts";
import type { Invocation } from "./invocation.ts";
import type { JobLaws } from "./job-laws.ts";
import type { SimQueues } from "./queues.ts";
import type { Process, Scheduler } from "./scheduler.ts";
import type { Schedules } from "./schedules.ts";
import type { SeenLines } from "./seen-lines.ts";
import type { Story } from "./story.ts";
import type { Table } from "./table.ts";
import type { Outages, Theme, Weather } from "./weather.ts";
import type { Witness } from "./witness.ts";

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
  jobs: JobLaws;
  table: Table;
  queues: SimQueues;
  schedules: Schedules;
  families: MemoryFamilies;
  lines: SeenLines;
  /** Places in a bucket of a line. Undefined: as deployed. */
  bucketSize: number | undefined;
  /** Places, or starts a second, of a line that has no shards. Undefined: as deployed. */
  maxInOne: number | undefined;
  /** Milliseconds for which a worker goes on with a line. Undefined: as deployed. */
  shareMs: number | undefined;
  flowSettings: MemoryFlowSettings;
  audit: MemoryAuditLog;
  entries: Entries;
  blobs: MemoryBlobs;
  blobList: MemoryBlobList;
  uniqueKeys: MemoryUniqueKeys;
  lists: MemoryLists;
  /** True: each end is an event. */
  events: boolean;
  /** Modes of unique submits in whose place clients restart. */
  restarts: ReadonlySet<string>;
  /** True: most types with places run their tasks in strict order. */
  strict: boolean;
  /** False: a submit leaves the cancel of a holder to a worker. */
  submitsCancel: boolean;
  /** Principals with channels, as `tenant/principal`. */
  heard: ReadonlySet<string>;
  /** The notify queue and its function. */
  stage: {
    /** Number of messages that are left. */
    readonly left: number;
    readonly deliveries: MemoryDeliveries;
    readonly slowHosts: MemorySlowHosts;
    readonly receivers: MemoryReceivers;
    send(world: World, notices: readonly Notice[], delaySeconds: number): void;
  };
  /** The ports of an invocation. A part of the world, as the stage has invocations of its own. */
  portsFor: (world: World, from: Invocation) => SubmitPorts & EndPorts;
  processes: { living: Set<Process>; started: number };
}
