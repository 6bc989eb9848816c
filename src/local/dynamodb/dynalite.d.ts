// The parts of dynalite that are used here. The package has no types of its own.

declare module "dynalite/db/index.js" {
  type Done<T> = (error: unknown, value: T) => void;

  /** Items of one table, entries of one index, or definitions of tables, by key. */
  export interface Items {
    get(key: string, done: Done<unknown>): void;
    put(key: string, value: unknown, done: Done<void>): void;
    del(key: string, done: Done<void>): void;
    /** Calls back when no other operation has the key. What `release` returns ends the lock. */
    lock(key: string, work: (release: (done: () => void) => () => void) => void): void;
  }

  interface KeyElement {
    AttributeName: string;
    KeyType: string;
  }

  /** The definition of a table, as DescribeTable returns it and dynalite stores it. */
  export interface Definition {
    TableStatus: string;
    AttributeDefinitions: readonly { AttributeName: string; AttributeType: string }[];
    KeySchema: readonly KeyElement[];
    GlobalSecondaryIndexes?: readonly {
      IndexName: string;
      KeySchema: readonly KeyElement[];
      Projection: { ProjectionType: string };
    }[];
    LocalSecondaryIndexes?: readonly object[];
  }

  /** Keys, or values, of a range. It keeps what it can see until it is closed. */
  export interface LevelIterator extends AsyncIterable<string> {
    next(): Promise<unknown>;
    /** Empty: there are no further ones. */
    nextv(max: number): Promise<unknown[]>;
    close(): Promise<void>;
  }

  export interface Write {
    type: "put" | "del";
    key: string;
    value?: unknown;
    /** `utf8`: the value is the text of its JSON. */
    valueEncoding?: "utf8";
  }

  /** A LevelDB folder, or a database in memory. */
  export interface Store {
    db: {
      /** Rejects with the cause when the folder cannot be opened. */
      open(): Promise<void>;
      close(): Promise<void>;
      batch(writes: readonly Write[]): Promise<void>;
      get(key: string, done: Done<unknown>): void;
      getSync(key: string): unknown;
      keys(range: { gte: string; lt: string }): LevelIterator;
      values(range: { gte: string; lt: string }): LevelIterator;
      /** A database in memory does not have it. */
      compactRange(first: string, last: string): Promise<void>;
    };
    tableDb: Items;
    getTable(name: string, done: Done<Definition>): void;
    getItemDb(table: string): Items;
    getIndexDb(type: string, table: string, index: string): Items;
  }

  const exported: {
    create(options: {
      /** LevelDB folder. Absent: the tables are in memory. */
      path?: string | undefined;
      /** Time that tables stay in CREATING, in milliseconds. */
      createTableMs: number;
      updateTableMs: number;
      deleteTableMs: number;
    }): Store;
    /** Compares a value with others, as an operator or a function of an expression does. */
    compare(comparison: string, value: unknown, others: readonly unknown[]): boolean;
    /** The value at a path in an item. */
    mapPath(path: readonly (string | number)[], item: object): { readonly [type: string]: unknown } | undefined;
  };
  export default exported;
}

declare module "dynalite/validations/index.js" {
  import type { Store } from "dynalite/db/index.js";

  const exported: {
    /** Both throw an error with `statusCode` and `body`. */
    checkTypes(input: object, types: object): object;
    checkValidations(input: object, types: object, custom: unknown, store: Store): void;
  };
  export default exported;
}
