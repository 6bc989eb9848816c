import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** What SQLite answers when another process holds the file. */
const busy = 5;

/**
 * Opens a SQLite file in the state directory, or a database in memory where there is no directory. What was written is
 * there after `kill -9`. The file belongs to this process until it is closed.
 * @throws Error when another process has the file open.
 */
export function openDatabase(stateDir: string | undefined, file: string, schema: string): DatabaseSync {
  if (stateDir === undefined) return withSchema(new DatabaseSync(":memory:"), schema);
  mkdirSync(stateDir, { recursive: true });
  const database = new DatabaseSync(join(stateDir, file));
  try {
    return withSchema(database, schema);
  } catch (cause) {
    database.close();
    if ((cause as { errcode?: number }).errcode !== busy) throw cause;
    throw new Error(`${stateDir} is in use by another server: stop that one, or choose another state directory`, {
      cause,
    });
  }
}

/** Does several writes as one: all of them or none. */
export function inTransaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}

function withSchema(database: DatabaseSync, schema: string): DatabaseSync {
  // Exclusive: two servers on one directory would each believe in their own memory. Must come before WAL.
  database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
  database.exec(`BEGIN IMMEDIATE; ${schema} COMMIT;`);
  return database;
}
