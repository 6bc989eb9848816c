import { createHash } from "node:crypto";
import { uploadIdOf } from "../model/idempotency.ts";
import type { Identity } from "../model/identity.ts";
import type { Blobs } from "../ports/blob.ts";
import type { NewId } from "../ports/tasks.ts";
import { type AnnouncePorts, announce } from "./announce.ts";
import type { FileFacts } from "./upload-body.ts";

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
  facts: Pick<FileFacts, "content_type" | "file_name">;
  bytes: Uint8Array;
}

/**
 * Stores the files that came with a submit as uploads. Returns the uploads' ids by the files' names, as a submit has them in `files`.
 * With an idempotency key the id of an upload follows from the key, the file's name and all of the file: a repeat stores nothing
 * twice, and a request with another file differs from the first one.
 * @throws PortUnavailable
 */
export async function storeFiles(
  ports: StoreFilesPorts,
  call: FileCall,
  files: ReadonlyMap<string, SentFile>,
): Promise<Record<string, string>> {
  const stored = Array.from(files, async ([name, file]) => [name, await storeFile(ports, call, name, file)] as const);
  return Object.fromEntries(await Promise.all(stored));
}

async function storeFile(
  ports: StoreFilesPorts,
  { identity, idempotencyKey }: FileCall,
  name: string,
  { facts, bytes }: SentFile,
): Promise<string> {
  const whole = { ...facts, size_bytes: bytes.byteLength, sha256: createHash("sha256").update(bytes).digest("hex") };
  const uploadId =
    idempotencyKey === undefined ? ports.newId() : uploadIdOf(identity, idempotencyKey, { name, ...whole });
  const earlier = idempotencyKey === undefined ? undefined : await ports.uploads.get(identity.tenantId, uploadId);
  // The object belongs to that task. Stored again after the task's end, nothing would delete it.
  if (earlier?.taken_by !== undefined) return uploadId;
  const { key } = await announce(ports, identity, uploadId, whole);
  await ports.blobs.put(key, bytes, { contentType: facts.content_type, onlyIfAbsent: true });
  return uploadId;
}
