import { createHash, randomBytes, randomUUID } from "node:crypto";
import type { Clock } from "../../core/ports/tasks.ts";
import { type ChecksumAlgorithm, type Checksums, compositeOf } from "./checksums.ts";
import type { ObjectFiles } from "./object-files.ts";
import type { ObjectHeaders, ObjectRows, StoredObject, StoredPart, StoredUpload } from "./object-rows.ts";
import type { Received } from "./receive.ts";
import { S3Error } from "./s3-error.ts";

/** Smallest part that is not the last: 5 MiB. */
const smallestPart = 5 * 1024 ** 2;

const dayMs = 86_400_000;

/** Deletes objects a number of days after their creation. */
export interface LifecycleRule {
  bucket: string;
  /** Of keys. Empty: all objects of the bucket. */
  prefix: string;
  /** Whole days. As in S3, an object goes at the first midnight UTC after its time. */
  days: number;
}

/** Where a put stores an object. */
export interface Target {
  bucket: string;
  key: string;
  headers: ObjectHeaders;
  onlyIfAbsent: boolean;
}

/** A part as a client names it when it completes an upload. */
export interface NamedPart {
  number: number;
  etag: string;
  checksums: Checksums;
}

/** Objects and multipart uploads. Each change is one transaction, after the bytes are in files. */
export class ObjectStore {
  readonly rows: ObjectRows;
  readonly files: ObjectFiles;
  readonly #clock: Clock;

  constructor({ rows, files, clock }: { rows: ObjectRows; files: ObjectFiles; clock: Clock }) {
    this.rows = rows;
    this.files = files;
    this.#clock = clock;
  }

  /**
   * Stores an object whose bytes are in a new file.
   * @throws S3Error when an object exists and must not be replaced
   */
  put(target: Target, file: string, { sizeBytes, md5, checksums }: Received): StoredObject {
    const object: StoredObject = {
      ...{ bucket: target.bucket, key: target.key, headers: target.headers, sizeBytes, checksums },
      files: [{ name: file, sizeBytes }],
      etag: md5.toString("hex"),
      uploadId: undefined,
      createdAt: this.#clock.now(),
    };
    this.#replace(object, target.onlyIfAbsent);
    return object;
  }

  delete(bucket: string, key: string): void {
    const object = this.rows.object(bucket, key);
    this.rows.deleteObject(bucket, key);
    if (object !== undefined) this.files.delete(namesOf(object));
  }

  createUpload(upload: Omit<StoredUpload, "id" | "createdAt">): StoredUpload {
    const created = { ...upload, id: randomUUID(), createdAt: this.#clock.now() };
    this.rows.saveUpload(created);
    return created;
  }

  /** @throws S3Error when there is no such upload of the key */
  upload(id: string, bucket: string, key: string): StoredUpload {
    const upload = this.rows.upload(id);
    if (upload?.bucket === bucket && upload.key === key) return upload;
    const text =
      "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.";
    throw new S3Error("NoSuchUpload", text, { UploadId: id });
  }

  /**
   * Stores a part; replaces one with its number. @throws S3Error when the upload was completed or aborted while it came
   */
  putPart(upload: StoredUpload, part: StoredPart): void {
    const replaced = this.rows.transaction(() => {
      this.upload(upload.id, upload.bucket, upload.key);
      const before = this.rows.parts(upload.id).find(({ number }) => number === part.number);
      this.rows.savePart(upload.id, part);
      return before;
    });
    if (replaced !== undefined) this.files.delete([replaced.file]);
  }

  /**
   * Makes an object of an upload's parts. A second call for the same upload returns the same object.
   * @throws S3Error
   */
  complete(id: string, target: Omit<Target, "headers">, named: readonly NamedPart[]): StoredObject {
    const { bucket, key, onlyIfAbsent } = target;
    const before = this.rows.object(bucket, key);
    if (before?.uploadId === id) return before;
    const upload = this.upload(id, bucket, key);
    const stored = this.rows.parts(id);
    const parts = chosenParts(stored, named);
    const object: StoredObject = {
      ...{ bucket, key, headers: upload.headers, uploadId: id, createdAt: this.#clock.now() },
      files: parts.map(({ file, sizeBytes }) => ({ name: file, sizeBytes })),
      sizeBytes: parts.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
      etag: etagOf(parts),
      checksums: checksumsOf(upload.algorithm, parts),
    };
    this.#replace(object, onlyIfAbsent, () => this.rows.deleteUpload(id));
    const used = new Set(namesOf(object));
    this.files.delete(stored.map(({ file }) => file).filter((file) => !used.has(file)));
    return object;
  }

  abort(id: string): void {
    const parts = this.rows.parts(id);
    this.rows.transaction(() => this.rows.deleteUpload(id));
    this.files.delete(parts.map(({ file }) => file));
  }

  /** Deletes what the rules say, and uploads that were begun a day ago. */
  expire(rules: readonly LifecycleRule[]): void {
    const now = this.#clock.now();
    for (const { id } of this.rows.uploadsBefore(now - dayMs)) this.abort(id);
    for (const { bucket, prefix, days } of rules) {
      const midnight = Math.floor(now / dayMs) * dayMs;
      const expired = this.rows.objectsBefore(bucket, prefix, midnight - days * dayMs);
      for (const object of expired) this.delete(object.bucket, object.key);
    }
  }

  /** Returns a secret that stays the same over restarts. */
  secret(): string {
    return this.rows.secret("signing", randomBytes(32).toString("base64url"));
  }

  #replace(object: StoredObject, onlyIfAbsent: boolean, also: () => void = () => {}): void {
    const before = this.rows.transaction(() => {
      const found = this.rows.object(object.bucket, object.key);
      if (found !== undefined && onlyIfAbsent) throw exists();
      this.rows.saveObject(object);
      also();
      return found;
    });
    if (before !== undefined) this.files.delete(namesOf(before));
  }
}

export const exists = () =>
  new S3Error("PreconditionFailed", "At least one of the pre-conditions you specified did not hold", {
    Condition: "If-None-Match",
  });

const namesOf = ({ files }: StoredObject): string[] => files.map(({ name }) => name);

/** @throws S3Error when a part is unknown, out of order or too small */
function chosenParts(stored: readonly StoredPart[], named: readonly NamedPart[]): StoredPart[] {
  if (named.some(({ number }, index) => number <= (named[index - 1]?.number ?? 0))) {
    const text =
      "The list of parts was not in ascending order. The parts list must be specified in order by part number.";
    throw new S3Error("InvalidPartOrder", text);
  }
  const byNumber = new Map(stored.map((part) => [part.number, part]));
  return named.map(({ number, etag, checksums }, index) => {
    const part = byNumber.get(number);
    if (part?.etag !== etag.replaceAll('"', "") || !sameChecksums(part.checksums, checksums)) {
      const text =
        "One or more of the specified parts could not be found. The part might not have been uploaded, or the specified " +
        "entity tag might not have matched the part's entity tag.";
      throw new S3Error("InvalidPart", text, { PartNumber: number });
    }
    if (part.sizeBytes < smallestPart && index < named.length - 1) {
      const text = "Your proposed upload is smaller than the minimum allowed size";
      throw new S3Error("EntityTooSmall", text, { ProposedSize: part.sizeBytes, MinSizeAllowed: smallestPart });
    }
    return part;
  });
}

const sameChecksums = (stored: Checksums, named: Checksums): boolean =>
  Object.entries(named).every(([algorithm, value]) => stored[algorithm as ChecksumAlgorithm] === value);

function etagOf(parts: readonly StoredPart[]): string {
  const hash = createHash("md5");
  for (const { etag } of parts) hash.update(Buffer.from(etag, "hex"));
  return `${hash.digest("hex")}-${parts.length}`;
}

function checksumsOf(algorithm: ChecksumAlgorithm | undefined, parts: readonly StoredPart[]): Checksums {
  if (algorithm === undefined) return {};
  const checksum = compositeOf(
    algorithm,
    parts.map(({ checksums }) => checksums),
  );
  return checksum === undefined ? {} : { [algorithm]: checksum };
}
