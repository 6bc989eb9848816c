import { tiers } from "../core/model/words.ts";
import type { Rules } from "../core/schedules/ports.ts";
import { MemoryAuditLog } from "./audit.ts";
import { MemoryBlobList } from "./blob-list.ts";
import { MemoryBlobs } from "./blobs.ts";
import type { FakeClock } from "./clock.ts";
import { MemoryFamilies } from "./families.ts";
import { MemoryFlowSettings } from "./flow-settings.ts";
import { MemoryLists } from "./lists.ts";
import { MemoryNotices } from "./notices.ts";
import { MemoryOnceStore, MemoryOneOffs } from "./others.ts";
import { MemoryQueues } from "./queues.ts";
import { MemoryRecords } from "./records.ts";
import { MemoryRuleChecks, MemoryRules, MemorySchedules } from "./schedules.ts";
import { MemorySignalLinks } from "./signal-links.ts";
import { MemoryStepStore } from "./steps.ts";
import { MemoryUniqueKeys } from "./unique-keys.ts";
import { MemoryUploads } from "./uploads.ts";
import { MemoryWaitQueues } from "./wait-queues.ts";

/** Everything that a deployment stores, queues and schedules, in memory and empty. The clock is that of all of it. */
export const memoryStores = (clock: FakeClock) => ({
  clock,
  records: new MemoryRecords(),
  queues: new MemoryQueues(clock),
  oneOffs: new MemoryOneOffs(),
  families: new MemoryFamilies(),
  lines: new MemoryWaitQueues(),
  flowSettings: new MemoryFlowSettings(),
  audit: new MemoryAuditLog(),
  steps: new MemoryStepStore(),
  blobs: new MemoryBlobs(clock),
  blobList: new MemoryBlobList(),
  notices: new MemoryNotices(clock),
  uploads: new MemoryUploads(),
  signalLinks: new MemorySignalLinks(),
  uniqueKeys: new MemoryUniqueKeys(),
  lists: new MemoryLists(),
  once: new MemoryOnceStore(),
  schedules: new MemorySchedules(),
  rules: new MemoryRules() as Rules & Pick<MemoryRules, "all">,
  checks: new MemoryRuleChecks(),
});

export type MemoryStores = ReturnType<typeof memoryStores>;

/**
 * When the next message becomes visible or the next one-off fires, in epoch milliseconds. Undefined: there are none.
 */
export function nextMoment({ queues, oneOffs }: MemoryStores): number | undefined {
  const messages = tiers.flatMap((tier) => queues.waiting(tier).map(({ visibleAt }) => visibleAt));
  const fired = [...oneOffs.all().values()].map(({ at }) => Date.parse(at));
  const moments = [...messages, ...fired];
  return moments.length === 0 ? undefined : Math.min(...moments);
}
