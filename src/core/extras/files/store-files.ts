import { createHash } from "../../../util/node-crypto.ts";
import { uploadIdOf } from "../../model/idempotency.ts";
import type { Identity } from "../../model/identity.ts";
import type { Blobs, Upload } from "../../ports/blob.ts";
import type { NewId } from "../../ports/tasks.ts";
import { type AnnouncePorts, announce } from "./create-upload.ts";
import type { FileFacts, SentFacts } from "./upload-body.ts";

export interface StoreFilesPorts extends AnnouncePorts {
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
