import { existsSync, mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { DiskFaults } from "./disk-faults.ts";

/** SQLite's error codes. */
const codes = { busy: 5, readOnly: 8, io: 10, corrupt: 11, full: 13, cannotOpen: 14, notADatabase: 26 };

const damaged: readonly number[] = [codes.corrupt, codes.notADatabase];
const unwritable: readonly number[] = [codes.readOnly, codes.io, codes.full, codes.cannotOpen];

export interface DatabaseOptions {
  /** Folder of the file. Undefined: the database is in memory. */
  stateDir: string | undefined;
  file: string;
  schema: string;
  /** Default: faults are not printed. */
  faults?: DiskFaults | undefined;
}

/**
 * A SQLite file in the state folder, or a database in memory. Written data survives `kill -9`. This process locks the
 * file until it closes it. A write that fails because of the disk throws DiskFault and changes nothing.
 */
export class Database {
  /** True when the file had no content at the start. */
  readonly isNew: boolean;
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #faults: DiskFaults;

  /**
   * @throws Error with one line that names the file: another process has it open, it is damaged, or it cannot be
   * written
   */
  constructor({ stateDir, file, schema, faults = new DiskFaults(() => {}) }: DatabaseOptions) {
    this.#path = stateDir === undefined ? ":memory:" : join(resolve(stateDir), file);
    this.#faults = faults;
    let database: DatabaseSync | undefined;
    try {
      if (stateDir !== undefined) makeFolder(resolve(stateDir));
      database = new DatabaseSync(this.#path);
      this.isNew = setUp(database, schema);
      this.#database = database;
    } catch (cause) {
      database?.close();
      throw explained(cause, this.#path);
    }
  }

  get path(): string {
    return this.#path;
  }

  /** A prepared statement. `run` is for writes, `get` also for writes that return a row. */
  prepare(sql: string) {
    const statement = this.#database.prepare(sql);
    return {
      run: (...values: SQLInputValue[]) => this.#write(() => statement.run(...values)),
      get: (...values: SQLInputValue[]) => this.#guard(() => statement.get(...values)),
      all: (...values: SQLInputValue[]) => statement.all(...values),
      iterate: (...values: SQLInputValue[]) => statement.iterate(...values),
    };
  }

  /** Makes several writes as one: all of them or none. */
  transaction<T>(work: () => T): T {
    return this.#write(() => {
      this.#database.exec("BEGIN IMMEDIATE");
      try {
        const result = work();
        this.#database.exec("COMMIT");
        return result;
      } catch (error) {
        // After some errors, such as a full disk, SQLite has already rolled back.
        if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
        throw error;
      }
    });
  }

  close(): void {
    this.#database.close();
  }

  #write<T>(work: () => T): T {
    const result = this.#guard(work);
    if (!this.#database.isTransaction) this.#faults.worked(this.#path);
    return result;
  }

  #guard<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw unwritable.includes(codeOf(error)) ? this.#faults.failed(this.#path, error) : error;
    }
  }
}

/** Returns true when the database had no tables. */
function setUp(database: DatabaseSync, schema: string): boolean {
  // Exclusive, as each server keeps queues in its memory: two servers on one folder would differ. Must come before WAL.
  database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
  const isNew = database.prepare("SELECT 1 FROM sqlite_master LIMIT 1").get() === undefined;
  database.exec(`BEGIN IMMEDIATE; ${schema} COMMIT;`);
  return isNew;
}

/** Creates a folder and its parents. Node's own recursive mode never returns for a folder under /proc. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  // A drive that is not there has no folder above it.
  if (dirname(path) !== path) makeFolder(dirname(path));
  mkdirSync(path);
}

/** SQLite's primary code; extended codes have more bits. -1: not SQLite's error. */
const codeOf = (error: unknown): number => {
  const code = (error as { errcode?: number }).errcode;
  return code === undefined ? -1 : code & 0xff;
};

/** The error of an open that failed, for the user of the server. */
function explained(cause: unknown, path: string): Error {
  const code = codeOf(cause);
  const { message } = cause as Error;
  if (code === codes.busy) {
    const advice = "Stop that server, or set --state (OFFLOAD_STATE_DIR) to another folder.";
    return new Error(`${dirname(path)} is in use by another server. ${advice}`, { cause });
  }
  if (damaged.includes(code)) {
    const advice = "Put a copy of the file back, or delete it to start without its content.";
    return new Error(`${path} is damaged: ${message}. ${advice}`, { cause });
  }
  const advice =
    "Check its permissions and the space on its disk, or set --state (OFFLOAD_STATE_DIR) to another folder.";
  return new Error(`Could not open ${path} for writing: ${message}. ${advice}`, { cause });
}
