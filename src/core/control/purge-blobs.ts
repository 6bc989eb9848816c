import { inLanes } from "../../util/in-lanes.ts";
import { isKept, iso } from "../model/record.ts";
import {
  type BlobEntry,
  type BlobList,
  type Blobs,
  blobListShards,
  dayMs,
  dayOf,
  type Uploads,
  uploadIdOf,
} from "../ports/blob.ts";
import type { Clock, Records } from "../ports/tasks.ts";

export interface PurgePorts {
  clock: Clock;
  records: Records;
  blobs: Blobs;
  blobList: BlobList;
  uploads: Uploads;
}

/** Days before today whose lists are read, too: a deployment may have been stopped. */
const pastDays = 40;

/** Entries of one page, and those that are worked on at the same time. */
const pageSize = 100;
const lanes = 10;

/**
 * An upload is deleted this long after it expired, in milliseconds: a submit that found it in time may still take it.
 */
const graceMs = 3_600_000;

/**
 * Looks at every stored object whose day has come, and deletes those that nothing needs any more. Repeatable: each
 * finished entry is removed.
 * @param mustStop Returns true when the rest is left to a later call.
 * @returns The number of deleted objects, and whether the lists were read to their end.
 */
export async function purgeBlobs(
  ports: PurgePorts,
  mustStop: () => boolean,
): Promise<{ deleted: number; finished: boolean }> {
  let deleted = 0;
  const today = ports.clock.now();
  for (let past = pastDays; past >= 0; past--) {
    for (let shard = 0; shard < blobListShards; shard++) {
      const day = dayOf(today - past * dayMs);
      const shardOf = { day, shard, mustStop };
      for await (const entries of pagesOf(ports, shardOf)) {
        const outcomes = await inLanes(entries, lanes, (entry) => purgeOne(ports, day, entry));
        deleted += outcomes.filter(Boolean).length;
      }
      if (mustStop()) return { deleted, finished: false };
    }
  }
  return { deleted, finished: true };
}

async function* pagesOf(
  { blobList }: PurgePorts,
  { day, shard, mustStop }: { day: string; shard: number; mustStop: () => boolean },
): AsyncGenerator<readonly BlobEntry[]> {
  let from: string | undefined;
  do {
    if (mustStop()) return;
    const page = await blobList.page(day, shard, { limit: pageSize, from });
    if (page.items.length > 0) yield page.items;
    from = page.next;
  } while (from !== undefined);
}

/** Returns true when the object was deleted. */
async function purgeOne(ports: PurgePorts, day: string, entry: BlobEntry): Promise<boolean> {
  const until = await neededUntil(ports, entry);
  if (until === "elsewhere") {
    await ports.blobList.remove(day, entry);
    return false;
  }
  if (until !== undefined) {
    await ports.blobList.add(dayOf(Math.max(until, ports.clock.now()) + dayMs), entry);
    await ports.blobList.remove(day, entry);
    return false;
  }
  await ports.blobs.delete(entry.key);
  await ports.blobList.remove(day, entry);
  return true;
}

/**
 * The time in epoch milliseconds until which an object is needed as far as is known now. Undefined: nothing needs it.
 * `elsewhere`: another entry decides about it.
 */
const neededUntil = (ports: PurgePorts, entry: BlobEntry): Promise<number | "elsewhere" | undefined> =>
  entry.upload_id === undefined ? untilEndOfTask(ports, entry) : untilEndOfUpload(ports, entry);

async function untilEndOfTask(ports: PurgePorts, entry: BlobEntry): Promise<number | "elsewhere" | undefined> {
  const { records, clock } = ports;
  const { tenant_id, task_id = "", key } = entry;
  const record = await records.get({ tenant_id, task_id });
  const now = clock.now();
  if (record === undefined || !isKept(record, now)) return (await isOfAnother(ports, entry)) ? "elsewhere" : undefined;
  if (record.retained_until === undefined) return now;
  // What an attempt stored that did not count, and what its client has acknowledged.
  const isResult = key.includes(`/${task_id}/result-`);
  if (isResult && record.result_ref?.blob !== key) return undefined;
  return Date.parse(record.retained_until);
}

/** True for an upload that a task took over after the entry's task had died without a record. */
async function isOfAnother({ uploads }: PurgePorts, { tenant_id, task_id, key }: BlobEntry): Promise<boolean> {
  const uploadId = uploadIdOf(key);
  const taker = uploadId === undefined ? undefined : (await uploads.get(tenant_id, uploadId))?.taken_by;
  return taker !== undefined && taker !== task_id;
}

async function untilEndOfUpload(
  { uploads, clock }: PurgePorts,
  { tenant_id, upload_id = "" }: BlobEntry,
): Promise<number | "elsewhere" | undefined> {
  const upload = await uploads.get(tenant_id, upload_id);
  // A task that takes an upload adds an entry of its own. An upload without a row is left to the bucket's lifecycle.
  if (upload === undefined || upload.taken_by !== undefined) return "elsewhere";
  const end = Date.parse(upload.expires_at) + graceMs;
  return iso(end) > iso(clock.now()) ? end - dayMs : undefined;
}
