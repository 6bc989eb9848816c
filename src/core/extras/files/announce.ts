import { uploadKey } from "../../model/blob-keys.ts";
import type { Identity } from "../../model/identity.ts";
import { iso } from "../../model/record.ts";
import { type BlobList, dayMs, dayOf, type Upload, type Uploads } from "../../ports/blob.ts";
import type { Clock } from "../../ports/tasks.ts";
import type { FileFacts } from "./upload-body.ts";

/** Time in which a task can take an upload, in milliseconds. */
const uploadLifeMs = dayMs;

/**
 * Days for which the row of an ended upload stays, so that the purge of objects still finds out whether a task took it.
 */
const daysAfterEnd = 7;

export interface AnnouncePorts {
  clock: Clock;
  uploads: Uploads;
  blobList: BlobList;
}

/**
 * Saves an upload before its object is stored: first the entry in the list of stored objects, so that no object is
 * without one. Repeatable: an upload that exists stays unchanged.
 * @param countedBytes Bytes that count among those of the tenant's open uploads. Default: none
 */
export async function announce(
  { clock, uploads, blobList }: AnnouncePorts,
  { tenantId, principal }: Identity,
  uploadId: string,
  facts: FileFacts,
  countedBytes = 0,
): Promise<Upload> {
  const now = clock.now();
  const endsAt = now + uploadLifeMs;
  const { content_type, size_bytes, file_name, sha256 } = facts;
  const upload: Upload = {
    tenant_id: tenantId,
    upload_id: uploadId,
    requested_by: principal,
    key: uploadKey(tenantId, uploadId),
    content_type,
    size_bytes,
    ...(file_name === undefined ? {} : { file_name }),
    ...(sha256 === undefined ? {} : { sha256 }),
    ...(countedBytes === 0 ? {} : { counted_bytes: countedBytes }),
    created_at: iso(now),
    expires_at: iso(endsAt),
    purge_at: Math.ceil((endsAt + daysAfterEnd * dayMs) / 1000),
  };
  await blobList.add(dayOf(endsAt), { key: upload.key, tenant_id: tenantId, upload_id: uploadId });
  await uploads.create(upload);
  return upload;
}
