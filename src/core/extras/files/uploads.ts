import * as z from "zod";
import { mediaTypePattern } from "../../../util/media-type.ts";
import { createHash } from "../../../util/node-crypto.ts";
import type { Gate } from "../../limits/gate.ts";
import { uploadIdOf } from "../../model/idempotency.ts";
import { parseInput } from "../../model/invalid.ts";
import { iso } from "../../model/record.ts";
import { largestFileBytes } from "../../model/stored-file.ts";
import type { Identity } from "../../model/words.ts";
import { type BlobList, type Blobs, dayMs, dayOf, type Upload, type Uploads, uploadKey } from "../../ports/blob.ts";
import type { Clock, NewId } from "../../ports/tasks.ts";

/** Body of `POST /uploads`. */
export const uploadSchema = z.strictObject({
  content_type: z.string().max(255).regex(mediaTypePattern, "expected a media type such as video/mp4"),
  size_bytes: z.int().min(0).max(largestFileBytes),
  file_name: z
    .string()
    .regex(/^\P{Cc}{1,255}$/u, "expected 1 to 255 characters without control characters")
    .refine((name) => name.isWellFormed(), "expected well-formed Unicode")
    .optional(),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, "expected 64 lowercase hexadecimal digits")
    .optional(),
});

/** A file that a client announces. */
type FileFacts = z.output<typeof uploadSchema>;

/** The facts that come with the bytes of a file. */
type SentFacts = Pick<FileFacts, "content_type" | "file_name">;

/**
 * The facts of a file that comes with a submit. An empty text is none.
 * @param name The file's name in the type.
 * @throws Problem `invalid_input` when the media type or the file's own name cannot be stored
 */
export function sentFacts(
  name: string,
  { contentType, fileName }: { contentType: string; fileName: string },
): SentFacts {
  const facts = {
    content_type: contentType === "" ? "application/octet-stream" : contentType,
    ...(fileName === "" ? {} : { file_name: fileName }),
  };
  return parseInput(uploadSchema.pick({ content_type: true, file_name: true }), facts, ["files", name]);
}

/** Time in which the client sends the file, in seconds. */
const urlSeconds = 3600;

interface CreateUploadPorts extends AnnouncePorts {
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

interface AnnouncePorts {
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

interface StoreFilesPorts extends AnnouncePorts {
  newId: NewId;
  blobs: Pick<Blobs, "put">;
}

/** The call that brought the files. */
interface FileCall {
  identity: Identity;
  idempotencyKey: string | undefined;
}

/** A file that came with a submit. */
export interface SentFile {
  facts: SentFacts;
  bytes: Uint8Array;
}

/** A file that came with a submit, and its facts as those of an upload. Nothing of it is stored. */
export interface SentUpload {
  facts: FileFacts;
  bytes: Uint8Array;
  /** An earlier request with the same idempotency key may have stored it. */
  mayBeStored: boolean;
}

/** The files that came with a submit, by the ids of the uploads that they become. */
export type SentUploads = ReadonlyMap<string, SentUpload>;

/**
 * Chooses the ids that the files of a submit get as uploads. Stores nothing. With an idempotency key the id of an
 * upload follows from the key, the file's name and all of the file: a repeat stores nothing twice, and a request with
 * another file differs from the first one.
 * @returns the ids by the files' names, as a submit has them in `files`, and the files by these ids
 */
export function nameFiles(
  newId: NewId,
  { identity, idempotencyKey }: FileCall,
  files: ReadonlyMap<string, SentFile>,
): { ids: Record<string, string>; sent: SentUploads } {
  const named = Array.from(files, ([name, { facts, bytes }]) => {
    const whole = { ...facts, size_bytes: bytes.byteLength, sha256: createHash("sha256").update(bytes).digest("hex") };
    const mayBeStored = idempotencyKey !== undefined;
    const uploadId = mayBeStored ? uploadIdOf(identity, idempotencyKey, { name, ...whole }) : newId();
    return { name, uploadId, sent: { facts: whole, bytes, mayBeStored } };
  });
  return {
    ids: Object.fromEntries(named.map(({ name, uploadId }) => [name, uploadId])),
    sent: new Map(named.map(({ uploadId, sent }) => [uploadId, sent])),
  };
}

/** Stores a file that came with a submit, as an upload. Repeatable. @throws PortUnavailable */
export async function storeFile(
  ports: Omit<StoreFilesPorts, "newId">,
  identity: Identity,
  uploadId: string,
  { facts, bytes, mayBeStored }: SentUpload,
): Promise<Upload> {
  const earlier = mayBeStored ? await ports.uploads.get(identity.tenantId, uploadId) : undefined;
  // The object belongs to that task. Stored again after the task's end, nothing would delete it.
  if (earlier?.taken_by !== undefined) return earlier;
  const upload = await announce(ports, identity, uploadId, facts);
  await ports.blobs.put(upload.key, bytes, { contentType: facts.content_type, onlyIfAbsent: true });
  return upload;
}

/**
 * Stores files as uploads. Returns the uploads' ids by the files' names, as a submit has them in `files`.
 * @throws PortUnavailable
 */
export async function storeFiles(
  ports: StoreFilesPorts,
  call: FileCall,
  files: ReadonlyMap<string, SentFile>,
): Promise<Record<string, string>> {
  const { ids, sent } = nameFiles(ports.newId, call, files);
  await Promise.all(Array.from(sent, ([uploadId, file]) => storeFile(ports, call.identity, uploadId, file)));
  return ids;
}
