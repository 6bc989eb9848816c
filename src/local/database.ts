import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** SQLite's error code SQLITE_BUSY: another process has locked the file. */
const busy = 5;

/**
 * Opens a SQLite file in the state directory; without a directory, a database in memory. Written data survives `kill -9`.
 * This process locks the file until it closes it.
 * @throws Error when another process has the file open
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
    throw new Error(
      `${stateDir} is in use by another server. Stop that server, or set OFFLOAD_STATE_DIR to another folder.`,
      { cause },
    );
  }
}

/** Makes several writes in one transaction. */
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
  // Exclusive, as each server keeps queues in its memory: two servers on one directory would differ. Must come before WAL.
  database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
  database.exec(`BEGIN IMMEDIATE; ${schema} COMMIT;`);
  return database;
}
