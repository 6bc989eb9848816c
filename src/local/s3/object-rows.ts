import { Database } from "../disk/database.ts";
import type { DiskFaults } from "../disk/disk-faults.ts";
import type { ChecksumAlgorithm, Checksums } from "./checksums.ts";

/** Headers that were given with an object and that its readers get. */
export type ObjectHeaders = Readonly<Record<string, string>>;

/** A file with bytes of an object. */
export interface ObjectFile {
  name: string;
  sizeBytes: number;
}

/** A stored object. Its bytes are those of its files, in their order. */
export interface StoredObject {
  bucket: string;
  key: string;
  files: readonly ObjectFile[];
  sizeBytes: number;
  etag: string;
  headers: ObjectHeaders;
  checksums: Checksums;
  /** The multipart upload that made it. Undefined: a single PUT made it. */
  uploadId: string | undefined;
  /** Epoch milliseconds. */
  createdAt: number;
}

/** A multipart upload that is neither completed nor aborted. */
export interface StoredUpload {
  id: string;
  bucket: string;
  key: string;
  headers: ObjectHeaders;
  /** Checksum of the parts. Undefined: none was asked for. */
  algorithm: ChecksumAlgorithm | undefined;
  /** Epoch milliseconds. */
  createdAt: number;
}

export interface StoredPart {
  number: number;
  file: string;
  sizeBytes: number;
  etag: string;
  checksums: Checksums;
}

const schema = `
  CREATE TABLE IF NOT EXISTS objects (
    bucket TEXT NOT NULL, key TEXT NOT NULL, files TEXT NOT NULL, size INTEGER NOT NULL, etag TEXT NOT NULL,
    headers TEXT NOT NULL, checksums TEXT NOT NULL, upload_id TEXT, created_at INTEGER NOT NULL,
    PRIMARY KEY (bucket, key)
  ) STRICT;
  CREATE INDEX IF NOT EXISTS objects_by_age ON objects (created_at);
  CREATE TABLE IF NOT EXISTS uploads (
    id TEXT PRIMARY KEY, bucket TEXT NOT NULL, key TEXT NOT NULL, headers TEXT NOT NULL, algorithm TEXT,
    created_at INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS parts (
    upload_id TEXT NOT NULL, number INTEGER NOT NULL, file TEXT NOT NULL, size INTEGER NOT NULL, etag TEXT NOT NULL,
    checksums TEXT NOT NULL, PRIMARY KEY (upload_id, number)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
`;

type Row = Record<string, unknown>;

/** Objects and uploads in SQLite. A file in the folder counts only when a row names it. */
export class ObjectRows extends Database {
  readonly #statements;

  /** @throws Error when another server uses the state folder */
  constructor(stateDir: string | undefined, faults?: DiskFaults) {
    super({ stateDir, file: "s3.db", schema, faults });
    this.#statements = prepare(this);
  }

  object(bucket: string, key: string): StoredObject | undefined {
    const row = this.#statements.object.get(bucket, key);
    return row && toObject(row);
  }

  saveObject(object: StoredObject): void {
    const { bucket, key, files, sizeBytes, etag, headers, checksums, uploadId = null, createdAt } = object;
    const texts = [files, headers, checksums].map((value) => JSON.stringify(value)) as [string, string, string];
    this.#statements.saveObject.run(bucket, key, texts[0], sizeBytes, etag, texts[1], texts[2], uploadId, createdAt);
  }

  deleteObject(bucket: string, key: string): void {
    this.#statements.deleteObject.run(bucket, key);
  }

  /** Objects of a bucket below a prefix that are older than the given time in epoch milliseconds. */
  objectsBefore(bucket: string, prefix: string, createdBefore: number): StoredObject[] {
    return this.#statements.objectsBefore.all(bucket, createdBefore, prefix, prefix).map(toObject);
  }

  upload(id: string): StoredUpload | undefined {
    const row = this.#statements.upload.get(id);
    return row && toUpload(row);
  }

  saveUpload({ id, bucket, key, headers, algorithm = undefined, createdAt }: StoredUpload): void {
    this.#statements.saveUpload.run(id, bucket, key, JSON.stringify(headers), algorithm ?? null, createdAt);
  }

  /** Deletes an upload and its parts' rows. */
  deleteUpload(id: string): void {
    this.#statements.deleteUpload.run(id);
    this.#statements.deleteParts.run(id);
  }

  uploadsBefore(createdBefore: number): StoredUpload[] {
    return this.#statements.uploadsBefore.all(createdBefore).map(toUpload);
  }

  /** Parts of an upload, by their numbers. */
  parts(uploadId: string): StoredPart[] {
    return this.#statements.parts.all(uploadId).map(toPart);
  }

  savePart(uploadId: string, { number, file, sizeBytes, etag, checksums }: StoredPart): void {
    this.#statements.savePart.run(uploadId, number, file, sizeBytes, etag, JSON.stringify(checksums));
  }

  /** Names of all files that belong to objects or parts. */
  fileNames(): Set<string> {
    const names = new Set(this.#statements.partFiles.all().map(({ file }) => String(file)));
    for (const { files } of this.#statements.objectFiles.iterate()) {
      for (const { name } of JSON.parse(String(files)) as ObjectFile[]) names.add(name);
    }
    return names;
  }

  /** Returns the secret of that name. Stores the given one when there is none. */
  secret(name: string, fresh: string): string {
    this.#statements.addSecret.run(name, fresh);
    return String(this.#statements.secret.get(name)?.value);
  }
}

function prepare(database: Database) {
  return {
    object: database.prepare("SELECT * FROM objects WHERE bucket = ? AND key = ?"),
    saveObject: database.prepare("INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"),
    deleteObject: database.prepare("DELETE FROM objects WHERE bucket = ? AND key = ?"),
    objectsBefore: database.prepare(
      "SELECT * FROM objects WHERE bucket = ? AND created_at < ? AND substr(key, 1, length(?)) = ?",
    ),
    objectFiles: database.prepare("SELECT files FROM objects"),
    upload: database.prepare("SELECT * FROM uploads WHERE id = ?"),
    saveUpload: database.prepare("INSERT INTO uploads VALUES (?, ?, ?, ?, ?, ?)"),
    deleteUpload: database.prepare("DELETE FROM uploads WHERE id = ?"),
    uploadsBefore: database.prepare("SELECT * FROM uploads WHERE created_at < ?"),
    parts: database.prepare("SELECT * FROM parts WHERE upload_id = ? ORDER BY number"),
    partFiles: database.prepare("SELECT file FROM parts"),
    savePart: database.prepare("INSERT OR REPLACE INTO parts VALUES (?, ?, ?, ?, ?, ?)"),
    deleteParts: database.prepare("DELETE FROM parts WHERE upload_id = ?"),
    addSecret: database.prepare("INSERT OR IGNORE INTO secrets VALUES (?, ?)"),
    secret: database.prepare("SELECT value FROM secrets WHERE name = ?"),
  };
}

const toObject = (row: Row): StoredObject => ({
  bucket: String(row.bucket),
  key: String(row.key),
  files: JSON.parse(String(row.files)) as ObjectFile[],
  sizeBytes: Number(row.size),
  etag: String(row.etag),
  headers: JSON.parse(String(row.headers)) as ObjectHeaders,
  checksums: JSON.parse(String(row.checksums)) as Checksums,
  uploadId: row.upload_id === null ? undefined : String(row.upload_id),
  createdAt: Number(row.created_at),
});

const toUpload = (row: Row): StoredUpload => ({
  id: String(row.id),
  bucket: String(row.bucket),
  key: String(row.key),
  headers: JSON.parse(String(row.headers)) as ObjectHeaders,
  algorithm: row.algorithm === null ? undefined : (String(row.algorithm) as ChecksumAlgorithm),
  createdAt: Number(row.created_at),
});

const toPart = (row: Row): StoredPart => ({
  number: Number(row.number),
  file: String(row.file),
  sizeBytes: Number(row.size),
  etag: String(row.etag),
  checksums: JSON.parse(String(row.checksums)) as Checksums,
});
