import type { TaskKey } from "../../core/model/record.ts";
import { Database } from "../disk/database.ts";
import type { DiskFaults } from "../disk/disk-faults.ts";

const schema = `
  CREATE TABLE IF NOT EXISTS envelopes (task TEXT PRIMARY KEY, message_id TEXT NOT NULL, body TEXT NOT NULL) STRICT;
  CREATE INDEX IF NOT EXISTS envelopes_by_message ON envelopes (message_id);`;

/** A member of a message's body, in SQL. Null when the body is not JSON or has no such member. */
const member = (name: string) => `CASE WHEN json_valid(body) THEN json_extract(body, '$.${name}') END`;

/** A task's key as a text, in SQL. Null for a message that belongs to no task. */
export const taskOfBody = `(${member("tenant_id")} || '#' || ${member("task_id")})`;

/** A task's key as the same text. */
export const taskText = ({ tenant_id, task_id }: TaskKey): string => `${tenant_id}#${task_id}`;

/** The task of an envelope. Undefined: the text is no envelope. */
function taskIn(body: string): string | undefined {
  try {
    const { schema_version, tenant_id, task_id } = JSON.parse(body) ?? {};
    return [schema_version, tenant_id, task_id].some((one) => one == null)
      ? undefined
      : taskText({ tenant_id, task_id });
  } catch {
    return undefined;
  }
}

/**
 * Copies of the envelopes in the queues, in a file of their own. A task's input is in its message only; with the copy,
 * the next start can send an open task again whose message is gone. A copy goes when a receiver deletes the task's
 * newest message.
 */
export class SavedEnvelopes extends Database {
  readonly #statements: ReturnType<typeof prepare>;
  /** False: there is no next start that could need a copy. */
  readonly #isKept: boolean;

  constructor(stateDir: string | undefined, faults?: DiskFaults) {
    super({ stateDir, file: "envelopes.db", schema, faults });
    this.#isKept = stateDir !== undefined;
    this.#statements = prepare(this);
  }

  /** Saves the body of a message if it is an envelope. */
  save(messageId: string, body: string): void {
    const task = this.#isKept ? taskIn(body) : undefined;
    if (task !== undefined) this.#statements.save.run(task, messageId, body);
  }

  /** Removes the copy of a message that a receiver deleted. */
  remove(messageId: string): void {
    if (this.#isKept) this.#statements.remove.run(messageId);
  }

  /** The body of the newest message of a task. */
  find(key: TaskKey): string | undefined {
    const row = this.#statements.find.get(taskText(key));
    return row && String(row.body);
  }

  /** Removes the copies of all other tasks. */
  keepOnly(tasks: ReadonlySet<string>): void {
    const others = [...this.#statements.tasks.iterate()].filter(({ task }) => !tasks.has(String(task)));
    this.transaction(() => {
      for (const { task } of others) this.#statements.removeTask.run(task ?? null);
    });
  }
}

function prepare(database: Database) {
  return {
    save: database.prepare("INSERT OR REPLACE INTO envelopes (task, message_id, body) VALUES (?, ?, ?)"),
    remove: database.prepare("DELETE FROM envelopes WHERE message_id = ?"),
    find: database.prepare("SELECT body FROM envelopes WHERE task = ?"),
    tasks: database.prepare("SELECT task FROM envelopes"),
    removeTask: database.prepare("DELETE FROM envelopes WHERE task = ?"),
  };
}
