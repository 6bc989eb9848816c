import type { TaskKey, TaskRecord } from "../model/record.ts";
import type { Page } from "./tasks.ts";

/** Bytes in pieces of any size. Each piece belongs to the reader: no later piece overwrites it. */
export type Bytes = AsyncIterable<Uint8Array>;

/** Settings of a put. */
export interface PutOptions {
  /** Media type that readers get. Default: `application/octet-stream`. */
  contentType?: string | undefined;
  /**
   * True: an object that exists under the key stays unchanged, and the put returns `exists`. Default: it is replaced.
   */
  onlyIfAbsent?: boolean | undefined;
  /** Ends a put of a stream. The put then throws the signal's reason, and nothing is stored. */
  signal?: AbortSignal | undefined;
}

/**
 * Outcome of a put. `exists`: the object was there before, and the put was `onlyIfAbsent`. A put whose first answer was
 * lost, and that the adapter repeated, also returns `exists`.
 */
export type PutResult =
  | {
      state: "stored";
      sizeBytes: number;
      /** 64 lowercase hexadecimal digits. */
      sha256: string;
    }
  | { state: "exists" };

/** Facts about a stored object. */
export interface BlobInfo {
  sizeBytes: number;
  contentType: string;
  /**
   * 64 lowercase hexadecimal digits. Absent: the store does not know it, as for objects that were put in several parts.
   */
  sha256?: string;
}

/** A part of an object in bytes: from `start` to `end`, `end` included, or to the object's end. The first byte is 0. */
export interface ByteRange {
  start: number;
  end?: number | undefined;
}

/** An object, or a range of it, while it is read. */
export interface BlobContent {
  /** Size of the whole object in bytes. */
  sizeBytes: number;
  contentType: string;
  /** The bytes; can be read once. Throws `PortUnavailable` when the store stops sending. */
  bytes: Bytes;
}

/** The upload that a presigned request allows: exactly these bytes, once. */
export interface UploadGrant {
  /** Whole seconds from 1 to 604800 (7 days). A URL also ends with the credentials that signed it. */
  expiresSeconds: number;
  /** Exact size of the body in bytes, from 0 to 5 GiB. */
  sizeBytes: number;
  contentType: string;
  /** Checksum that the body must have: 64 lowercase hexadecimal digits. Default: any. */
  sha256?: string | undefined;
}

/** A request that a client can send without credentials. */
export interface PresignedUpload {
  method: "PUT";
  url: string;
  /** Headers that the client has to send as they are. Browsers and HTTP libraries set `content-length` themselves. */
  headers: Record<string, string>;
}

/** The download that a presigned URL allows. */
export interface DownloadGrant {
  /** Whole seconds from 1 to 604800 (7 days). A URL also ends with the credentials that signed it. */
  expiresSeconds: number;
  /** `Content-Type` of the answer. Default: that of the object. */
  contentType?: string | undefined;
  /** Name under which browsers save the file: any text. Default: the answer has no `Content-Disposition`. */
  fileName?: string | undefined;
  /** True: browsers may show the file instead of saving it. Only with `fileName`. Default: false. */
  inline?: boolean | undefined;
}

/**
 * Objects by key, in one bucket. A key has from 1 to 1024 bytes in UTF-8. An object appears whole or not at all; a read
 * after a put finds it. Methods throw `PortUnavailable` when the store cannot answer now. Contract suite:
 * `test/contract/blobs.ts`.
 */
export interface Blobs {
  /**
   * Stores bytes under a key. A stream may have any length up to 48 GiB; of one, at most 25 MiB are in memory.
   * @throws PortUnavailable; the stream's own error, or the reason of the signal: then nothing is stored
   */
  put(key: string, body: Uint8Array | Bytes, options?: PutOptions): Promise<PutResult>;
  /**
   * Opens an object for reading. Returns undefined when there is no object, or none of its bytes are in the range. Read
   * the bytes to their end, or leave the loop over them: otherwise a connection stays open.
   */
  read(key: string, range?: ByteRange): Promise<BlobContent | undefined>;
  /** Returns facts about an object, or undefined when there is none. */
  head(key: string): Promise<BlobInfo | undefined>;
  /** Deletes an object. Does nothing when there is none. */
  delete(key: string): Promise<void>;
  /**
   * Signs an upload. The store refuses a body of another size, type or checksum, a second upload to the key (412), and
   * one after the expiry (403). Makes no request to the store.
   */
  presignPut(key: string, grant: UploadGrant): Promise<PresignedUpload>;
  /**
   * Signs a download, and returns its URL. It can be used any number of times until it expires. Makes no request to the
   * store.
   */
  presignGet(key: string, grant: DownloadGrant): Promise<string>;
}

/** Parts of a day's list, so that no part gets more writes than a partition of the table takes: 1,000 a second. */
export const blobListShards = 10;

/** A stored object, and what it belongs to. */
export interface BlobEntry {
  /** Key of the object in the bucket. */
  key: string;
  tenant_id: string;
  /** The task that the object belongs to. Absent: it is an upload that no task has taken. */
  task_id?: string;
  /** The upload that the object is. Absent: it is a task's. */
  upload_id?: string;
}

/**
 * Stored objects by the day on which someone looks whether they are still needed. An entry is written before its
 * object, so that a death in between leaves an entry without an object, and never an object without an entry. Contract
 * suite: `test/contract/blob-list.ts`.
 */
export interface BlobList {
  /**
   * Adds an entry to a day's list. Repeatable.
   * @param day UTC date, such as `2027-01-31`.
   * @throws PortUnavailable
   */
  add(day: string, entry: BlobEntry): Promise<void>;
  /**
   * Returns a page of one shard of a day's list.
   * @param shard 0 to 9.
   * @throws PortUnavailable
   */
  page(day: string, shard: number, options: { limit: number; from: string | undefined }): Promise<Page<BlobEntry>>;
  /** Removes an entry. Does nothing when there is none. */
  remove(day: string, entry: BlobEntry): Promise<void>;
}

/** The UTC date of a time in epoch milliseconds. */
export const dayOf = (epochMs: number): string => new Date(epochMs).toISOString().slice(0, 10);

/** Milliseconds of a day. */
export const dayMs = 86_400_000;

/** A file that a client announced with `POST /uploads`, and sends to the bucket itself. */
export interface Upload {
  tenant_id: string;
  upload_id: string;
  /** The principal that announced it: only that one, or an operator of the tenant, gives it to a task. */
  requested_by: string;
  /** Key of the object in the bucket. */
  key: string;
  content_type: string;
  size_bytes: number;
  file_name?: string;
  /** 64 lowercase hexadecimal digits. Absent: the client named none. */
  sha256?: string;
  /** Bytes that count among those of the tenant's open uploads until a task takes it. Absent: it does not count. */
  counted_bytes?: number;
  created_at: string;
  /** No task can take it from then on. */
  expires_at: string;
  /** The task that took it. Absent: none. */
  taken_by?: string;
  /** From this second on the table may delete the upload. Epoch seconds. */
  purge_at: number;
}

/**
 * Announced uploads. Contract suite: `test/contract/uploads.ts`. All methods throw `PortUnavailable` when the table
 * cannot answer now.
 */
export interface Uploads {
  create(upload: Upload): Promise<void>;
  /** Reads an upload, consistent. */
  get(tenantId: string, uploadId: string): Promise<Upload | undefined>;
  /**
   * Notes that a task takes an upload. Repeatable for the same task.
   * @param before The task that had taken it, which the caller found not to exist. Undefined: none.
   * @returns False when another task has taken it, or the upload does not exist.
   */
  take(tenantId: string, uploadId: string, taskId: string, before: string | undefined): Promise<boolean>;
}

/** The worker's own disk. */
export interface Disk {
  /** Reads a file. The first chunk throws when there is none. */
  read(path: string): Bytes;
  /** Writes a file, also over an existing file. */
  write(path: string, bytes: Bytes): Promise<void>;
}

/** A tenant's name as one part of a key: names may have `/`, and no two names make the same part. */
const part = (text: string): string => encodeURIComponent(text);

/** Key of an announced upload. */
export const uploadKey = (tenantId: string, uploadId: string): string => `${part(tenantId)}/uploads/${uploadId}`;

/** The upload that a key is of. Undefined: it is another object's. */
export const uploadIdOf = (key: string): string | undefined => /^[^/]+\/uploads\/([^/]+)$/.exec(key)?.[1];

/** Key of a task's large input. The checksum makes it the same for every repeat of the request. */
export const inputKey = ({ tenant_id, task_id }: TaskKey, sha256: string): string =>
  `${part(tenant_id)}/${task_id}/input-${sha256}`;

/** Key of the result of the running attempt, so that a late attempt cannot overwrite a newer result. */
export const resultKey = ({ tenant_id, task_id, created_at, attempts_total }: TaskRecord): string =>
  `${part(tenant_id)}/${task_id}/result-${Date.parse(created_at).toString(36)}-${attempts_total}`;
