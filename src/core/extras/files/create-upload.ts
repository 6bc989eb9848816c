import type { Gate } from "../../limits/gate.ts";
import { uploadKey } from "../../model/blob-keys.ts";
import type { Identity } from "../../model/identity.ts";
import { parseInput } from "../../model/invalid.ts";
import { iso } from "../../model/record.ts";
import { type BlobList, type Blobs, dayMs, dayOf, type Upload, type Uploads } from "../../ports/blob.ts";
import type { Clock, NewId } from "../../ports/tasks.ts";
import { type FileFacts, uploadSchema } from "./upload-body.ts";

/** Time in which the client sends the file, in seconds. */
const urlSeconds = 3600;

export interface CreateUploadPorts extends AnnouncePorts {
  newId: NewId;
  blobs: Pick<Blobs, "presignPut">;
  /** Limits the uploads of a tenant. Absent: no limits. */
  gate?: Pick<Gate, "admitUpload"> | undefined;
}

/** An announced upload, and the request that sends its bytes. */
export interface UploadView {
  upload_id: string;
  method: "PUT";
  url: string;
  headers: Record<string, string>;
  /** The URL's end. A task can take the upload for longer: 24 hours from its announcement. */
  expires_at: string;
}

/**
 * Announces an upload. The client sends the bytes to the returned URL, and names the upload's id in a submit.
 * @throws Problem `invalid_input`, `rate_limited`, `quota_exceeded`
 */
export async function createUpload(
  ports: CreateUploadPorts,
  { identity, body }: { identity: Identity; body: unknown },
): Promise<UploadView> {
  const facts = parseInput(uploadSchema, body);
  const counted_bytes = await ports.gate?.admitUpload(identity.tenantId, facts.size_bytes);
  const { upload_id, key } = await announce(ports, identity, ports.newId(), facts, counted_bytes);
  const expires_at = iso(ports.clock.now() + urlSeconds * 1000);
  const { size_bytes: sizeBytes, content_type: contentType, sha256 } = facts;
  const request = await ports.blobs.presignPut(key, { expiresSeconds: urlSeconds, sizeBytes, contentType, sha256 });
  return { upload_id, ...request, expires_at };
}

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
