import { Database } from "../disk/database.ts";
import type { DiskFaults } from "../disk/disk-faults.ts";
import type { Entry } from "./fair-index.ts";
import { taskOfBody } from "./saved-envelopes.ts";

const schema = `
  CREATE TABLE IF NOT EXISTS queues (name TEXT PRIMARY KEY, definition TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS messages (
    seq INTEGER PRIMARY KEY, queue TEXT NOT NULL, id TEXT NOT NULL, group_id TEXT, sent_at INTEGER NOT NULL,
    until INTEGER NOT NULL, receives INTEGER NOT NULL, receive_count INTEGER NOT NULL,
    first_received_at INTEGER NOT NULL, source_arn TEXT, trace_header TEXT, body_md5 TEXT NOT NULL,
    attributes TEXT, body TEXT NOT NULL
  ) STRICT;`;

/** Attributes of a message that its sender set, as in SQS's API. */
export type MessageAttributes = Record<string, { DataType: string; StringValue?: string; BinaryValue?: string }>;

/** The part of a message that is in the database only. */
export interface Content {
  body: string;
  bodyMd5: string;
  messageAttributes?: MessageAttributes | undefined;
  traceHeader?: string | undefined;
  /**
   * ARN of the queue from which the message came to a dead-letter queue. Undefined: it is not in a dead-letter queue.
   */
  sourceArn?: string | undefined;
}

type Row = Record<string, string | number | null>;

/** Queues and messages in SQLite, one row for each message. */
export class QueueRows extends Database {
  readonly #statements: ReturnType<typeof prepare>;

  constructor(stateDir: string | undefined, faults?: DiskFaults) {
    super({ stateDir, file: "queues.db", schema, faults });
    this.#statements = prepare(this);
  }

  /** The tasks that have a message in a queue, as `taskText` writes them. */
  tasks(): Set<string> {
    return new Set([...this.#statements.tasks.iterate()].map(({ task }) => String(task)));
  }

  /** All messages without their content, oldest first, with the names of their queues. */
  *load(): Generator<{ queue: string; entry: Entry }> {
    for (const row of this.#statements.load.iterate() as Iterable<Row>) {
      yield { queue: String(row.queue), entry: toEntry(row) };
    }
  }

  /** Adds a message, and returns its row number. */
  insert(queue: string, message: Omit<Entry, "seq">, content: Content): number {
    const { lastInsertRowid } = this.#statements.insert.run(
      queue,
      message.id,
      message.groupId ?? null,
      message.sentAt,
      message.until,
      content.traceHeader ?? null,
      content.bodyMd5,
      content.messageAttributes === undefined ? null : JSON.stringify(content.messageAttributes),
      content.body,
    );
    return Number(lastInsertRowid);
  }

  content(seq: number): Content {
    return toContent(this.#statements.content.get(seq) as Row);
  }

  /** Saves the changes that a receive made, and returns the content. */
  receive(entry: Entry): Content {
    const { until, receives, receiveCount, firstReceivedAt, seq } = entry;
    return toContent(this.#statements.receive.get(until, receives, receiveCount, firstReceivedAt, seq) as Row);
  }

  hide(seq: number, until: number): void {
    this.#statements.hide.run(until, seq);
  }

  /** Moves a message to a dead-letter queue, where it is visible and has 0 receives. */
  moveToDlq(seq: number, queue: string, sourceArn: string): void {
    this.#statements.moveToDlq.run(queue, sourceArn, seq);
  }

  delete(seq: number): void {
    this.#statements.delete.run(seq);
  }

  purge(queue: string): void {
    this.#statements.purge.run(queue);
  }

  /** Makes every in-flight message visible. */
  release(): void {
    this.#statements.release.run();
  }

  saveDefinition(queue: string, definition: string): void {
    this.#statements.saveDefinition.run(queue, definition);
  }

  deleteDefinition(queue: string): void {
    this.#statements.deleteDefinition.run(queue);
  }

  definitions(): { name: string; definition: string }[] {
    return this.#statements.definitions.all() as { name: string; definition: string }[];
  }
}

/** The columns of a message's content. */
const contentColumns = "body, body_md5, attributes, trace_header, source_arn";

function prepare(database: Database) {
  return {
    load: database.prepare(
      `SELECT seq, queue, id, group_id, sent_at, until, receives, receive_count, first_received_at
       FROM messages ORDER BY seq`,
    ),
    tasks: database.prepare(`SELECT DISTINCT ${taskOfBody} AS task FROM messages WHERE ${taskOfBody} IS NOT NULL`),
    insert: database.prepare(
      `INSERT INTO messages (queue, id, group_id, sent_at, until, receives, receive_count, first_received_at,
         trace_header, body_md5, attributes, body)
       VALUES (?, ?, ?, ?, ?, 0, 0, 0, ?, ?, ?, ?)`,
    ),
    content: database.prepare(`SELECT ${contentColumns} FROM messages WHERE seq = ?`),
    receive: database.prepare(
      `UPDATE messages SET until = ?, receives = ?, receive_count = ?, first_received_at = ? WHERE seq = ?
       RETURNING ${contentColumns}`,
    ),
    hide: database.prepare("UPDATE messages SET until = ? WHERE seq = ?"),
    moveToDlq: database.prepare("UPDATE messages SET queue = ?, source_arn = ?, until = 0, receives = 0 WHERE seq = ?"),
    delete: database.prepare("DELETE FROM messages WHERE seq = ?"),
    purge: database.prepare("DELETE FROM messages WHERE queue = ?"),
    release: database.prepare("UPDATE messages SET until = 0 WHERE until > 0 AND receives > 0"),
    saveDefinition: database.prepare("INSERT OR REPLACE INTO queues (name, definition) VALUES (?, ?)"),
    deleteDefinition: database.prepare("DELETE FROM queues WHERE name = ?"),
    definitions: database.prepare("SELECT name, definition FROM queues ORDER BY name"),
  };
}

function toEntry(row: Row): Entry {
  return {
    seq: Number(row.seq),
    id: String(row.id),
    groupId: text(row.group_id),
    sentAt: Number(row.sent_at),
    until: Number(row.until),
    receives: Number(row.receives),
    receiveCount: Number(row.receive_count),
    firstReceivedAt: Number(row.first_received_at),
  };
}

function toContent(row: Row): Content {
  return {
    body: String(row.body),
    bodyMd5: String(row.body_md5),
    messageAttributes: row.attributes ? (JSON.parse(String(row.attributes)) as MessageAttributes) : undefined,
    traceHeader: text(row.trace_header),
    sourceArn: text(row.source_arn),
  };
}

function text(value: string | number | null | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}
