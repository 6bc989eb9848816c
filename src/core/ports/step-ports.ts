import type { BlobList, Blobs } from "./blob.ts";
import type { Lists } from "./lists.ts";
import type { Notices } from "./notify.ts";
import type { Clock, Log, Metrics, NewId, OneOffs, Queues, Records } from "./tasks.ts";
import type { UniqueKeys } from "./unique.ts";

/** The ports of `dispatch`. `log` and `metrics` get every change of a task's status. */
export interface DispatchPorts {
  clock: Clock;
  records: Records;
  queues: Queues;
  oneOffs: OneOffs;
  /** The bucket of files, large inputs and large results. */
  blobs: Blobs;
  blobList: BlobList;
  notices: Notices;
  uniqueKeys: UniqueKeys;
  lists: Lists;
  newId: NewId;
  log: Log;
  metrics: Metrics;
}
