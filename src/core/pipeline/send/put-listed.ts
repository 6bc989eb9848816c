import type { TaskKey } from "../../model/record.ts";
import type { Blobs, Bytes, PutOptions, PutResult } from "../../ports/blob.ts";
import { type BlobList, dayMs, dayOf } from "../../ports/blob.ts";
import type { Clock } from "../../ports/tasks.ts";

export interface BlobPorts {
  clock: Clock;
  blobs: Blobs;
  blobList: BlobList;
}

/** Stores an object of a task. It is listed first, so that it is deleted also when the task never names it. */
export async function putListed(
  { clock, blobs, blobList }: BlobPorts,
  { tenant_id, task_id }: TaskKey,
  key: string,
  body: Uint8Array | Bytes,
  options: PutOptions,
): Promise<PutResult> {
  await blobList.add(dayOf(clock.now() + dayMs), { key, tenant_id, task_id });
  return blobs.put(key, body, options);
}
