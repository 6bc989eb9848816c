import { rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import "./text-memory.ts";
import dynalite, { type Definition, type LevelIterator, type Store } from "dynalite/db/index.js";
import { DiskFaults } from "../disk/disk-faults.ts";
import { KnownOperations } from "./known-operations.ts";
import { changesTables, isWrite, runOperation } from "./table-operations.ts";

/** LevelDB writes files of this size, so it needs this much room to work again after the disk was full. */
const roomBytes = 8 * 1024 * 1024;

/** Time between two tries to work again, in milliseconds. */
const repairEveryMs = 1_000;

function create(path: string | undefined): Store {
  const store = dynalite.create({ path, createTableMs: 0, updateTableMs: 0, deleteTableMs: 0 });
  closeIterators(store.db);
  readAtOnce(store.db);
  return store;
}

/**
 * Makes iterators end with their streams. Dynalite calls `return` of an iterator, which a LevelDB iterator does not
 * have: without this, each Query and Scan would leave an open one, with its memory, and with all the data of the disk
 * that it can still see.
 */
function closeIterators(db: Store["db"]): void {
  const { keys, values } = db;
  db.keys = (range) => closing(() => keys.call(db, range));
  db.values = (range) => closing(() => values.call(db, range));
}

/**
 * Makes reads of one item synchronous. What a server reads is in memory nearly always, and dynalite reads the table's
 * definition and the item for each operation: on a busy machine each read by another thread costs a turn of the event
 * loop more, in which all other requests come before it.
 */
function readAtOnce(db: Store["db"]): void {
  db.get = (key, done) => {
    try {
      process.nextTick(done, null, db.getSync(key));
    } catch (error) {
      process.nextTick(done, error);
    }
  };
}

/**
 * An iterator that ends with its stream. A database that was closed meanwhile throws when it makes one, in a callback
 * of dynalite where nothing catches it: then the first read fails.
 */
function closing(make: () => LevelIterator): LevelIterator {
  try {
    const iterator = make();
    return Object.assign(iterator, { next: nextOf(iterator), return: () => iterator.close() });
  } catch (error) {
    const next = () => Promise.reject(error);
    return { next, nextv: next, close: async () => {}, [Symbol.asyncIterator]: () => ({ next }) };
  }
}

/** Entries that an iterator reads at once. LevelDB reads fewer where they are large. */
const readAhead = 100;

/** Reads the first entries at once: an iterator's own `next` reads one, and then the others. */
function nextOf(iterator: LevelIterator): () => Promise<unknown> {
  let read: unknown[] = [];
  let position = 0;
  return async () => {
    if (position >= read.length) {
      read = await iterator.nextv(readAhead);
      position = 0;
    }
    return read[position++];
  };
}

/**
 * The tables of one LevelDB folder. After a failed write it refuses all writes until it has opened the folder again:
 * LevelDB would write behind the broken end of its log, and lose these writes with the next kill.
 */
export class TableStore {
  readonly #path: string | undefined;
  readonly #faults: DiskFaults;
  #store: Store;
  #known: KnownOperations;
  /** The reason why writes are refused. Undefined: all is well. */
  #fault: unknown;
  /** True when a try to open the folder again failed, so reads fail, too. */
  #closed = false;
  #repairing: Promise<void> | undefined;
  #triedAt = Number.NEGATIVE_INFINITY;

  private constructor(path: string | undefined, faults: DiskFaults) {
    this.#path = path;
    this.#faults = faults;
    this.#store = create(path);
    this.#known = new KnownOperations(this.#store);
  }

  /**
   * Opens a folder; without a folder, the tables are in memory.
   * @throws Error with one line that names the folder
   */
  static async open(stateDir: string | undefined, faults = new DiskFaults(() => {})): Promise<TableStore> {
    const path = stateDir === undefined ? undefined : join(resolve(stateDir), "table");
    const opened = new TableStore(path, faults);
    try {
      await opened.#store.db.open();
    } catch (error) {
      await opened.#store.db.close();
      const { message } = ((error as Error).cause ?? error) as Error;
      const advice =
        "Free some space, or put a copy of the folder back, or delete the state folder to start with nothing.";
      throw new Error(`Could not open the folder ${path}: ${message}. ${advice}`, { cause: error });
    }
    return opened;
  }

  /** Path of the folder. Undefined: the tables are in memory. */
  get path(): string | undefined {
    return this.#path;
  }

  /**
   * The names of the tables. Finishes the creation of tables that a kill interrupted: DynamoDB answers no request for a
   * table that is still being created.
   */
  async tableNames(): Promise<string[]> {
    const names: string[] = [];
    for await (const key of this.#store.db.keys({ gte: "table~", lt: "table~~" }))
      names.push(key.slice("table~".length));
    for (const name of names) {
      const { Table: table } = (await this.run("DescribeTable", { TableName: name })) as { Table: Definition };
      if (table.TableStatus !== "CREATING") continue;
      const indexes = table.GlobalSecondaryIndexes?.map((index) => ({ ...index, IndexStatus: "ACTIVE" }));
      const active = { ...table, TableStatus: "ACTIVE", ...(indexes && { GlobalSecondaryIndexes: indexes }) };
      await promisify(this.#store.tableDb.put)(name, active);
    }
    return names;
  }

  /** @throws Refusal; DiskFault when the folder cannot be read or written now */
  async run(operation: string, input: object): Promise<object> {
    if (this.#fault !== undefined && (this.#closed || isWrite(operation))) await this.#repair();
    await this.#repairing;
    try {
      return await this.#run(operation, input);
    } catch (error) {
      if (this.#path === undefined || !isWrite(operation) || !isLevelError(error)) throw error;
      this.#fault ??= error;
      throw this.#faults.failed(this.#path, error);
    }
  }

  async #run(operation: string, input: object): Promise<object> {
    const known = this.#known;
    if (changesTables(operation)) known.forget();
    const name = known.nameOf(operation, input);
    const answer = name === undefined ? undefined : await known.run(name, operation, input);
    if (answer !== undefined) return answer;
    const found = await runOperation(this.#store, operation, input).finally(() => {
      if (changesTables(operation)) known.forget();
    });
    if (name !== undefined) await known.learn(name, operation, input);
    return found;
  }

  /** Writes the folder's files anew without what was deleted. */
  async compact(): Promise<void> {
    if (this.#path !== undefined && !this.#closed) await this.#store.db.compactRange("", "\u{10ffff}");
  }

  close(): Promise<void> {
    return this.#store.db.close();
  }

  /** Opens the folder again when there is room. Does nothing when the last try was less than a second ago. */
  async #repair(): Promise<void> {
    if (this.#repairing === undefined && performance.now() - this.#triedAt >= repairEveryMs) {
      this.#triedAt = performance.now();
      this.#repairing = this.#openAgain(this.#path ?? "").finally(() => {
        this.#repairing = undefined;
      });
    }
    await this.#repairing;
    if (this.#fault !== undefined) throw this.#faults.failed(this.#path ?? "", this.#fault);
  }

  async #openAgain(path: string): Promise<void> {
    const probe = join(path, "..", "room-check");
    try {
      await writeFile(probe, Buffer.alloc(roomBytes)).finally(() => rm(probe, { force: true }));
      if (!this.#closed) await this.#store.db.close();
      this.#closed = true;
      this.#store = create(path);
      this.#known = new KnownOperations(this.#store);
      await this.#store.db.open();
      this.#closed = false;
      this.#fault = undefined;
      this.#faults.worked(path);
    } catch (error) {
      this.#fault = error;
      if (this.#closed) await this.#store.db.close();
    }
  }
}

/** True for an error of LevelDB, and for those of calls during a close. */
const isLevelError = (error: unknown): boolean =>
  error instanceof Error &&
  (String((error as NodeJS.ErrnoException).code).startsWith("LEVEL_") || error.message === "Database is closed");
