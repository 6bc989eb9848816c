import { DatabaseSync } from "node:sqlite";
import { type Line, type Order, totalOf } from "./order.ts";

const schema = `
  PRAGMA journal_mode = WAL;
  CREATE TABLE IF NOT EXISTS orders (tenant TEXT, id TEXT, body TEXT, cents INT, day TEXT, tasks TEXT, PRIMARY KEY (tenant, id));
  CREATE TABLE IF NOT EXISTS booked (tenant TEXT, key TEXT, PRIMARY KEY (tenant, key));
  CREATE TABLE IF NOT EXISTS stock (tenant TEXT, name TEXT, count INT, PRIMARY KEY (tenant, name));
  CREATE TABLE IF NOT EXISTS trending (tenant TEXT, name TEXT, count INT, PRIMARY KEY (tenant, name));
`;

/** Ids of an order's tasks by their types. */
export type TaskIds = Record<string, string>;
export type Saved = { known: "new" | "same" | "different"; tasks: TaskIds | undefined };
type Counts = Record<string, number>;

/** Things that are booked once for each key: stock goes down, counts of titles go up. */
export const ledgers = {
  stock: ({ sku, quantity }: Line) => [sku, -quantity] as const,
  trending: ({ title, quantity }: Line) => [title, quantity] as const,
};
export type Ledger = keyof typeof ledgers;

/** The shop's data in SQLite. Every row has a tenant, and every function of a tenant's data is behind `forTenant`. */
export class ShopStore {
  readonly #db: DatabaseSync;

  constructor(file: string) {
    this.#db = new DatabaseSync(file);
    this.#db.exec(schema);
  }

  /** Orders that are stored, and whose tasks are not known to be accepted. */
  unsubmitted(): { tenant: string; order: Order }[] {
    const rows = this.#db.prepare("SELECT tenant, body FROM orders WHERE tasks IS NULL").all();
    return rows.map(({ tenant, body }) => ({ tenant: String(tenant), order: JSON.parse(String(body)) }));
  }

  forTenant(tenant: string) {
    if (tenant === "") throw new TypeError("a tenant is required");
    const db = this.#db;
    const counts = (sql: string): Counts =>
      Object.fromEntries(
        db
          .prepare(sql)
          .all(tenant)
          .map(({ name, count }) => [String(name), Number(count)]),
      );

    return {
      /** Stores an order, unless there is one of its id. */
      save(order: Order): Saved {
        const body = JSON.stringify(order);
        const day = new Date().toISOString().slice(0, 10);
        const { changes } = db
          .prepare("INSERT OR IGNORE INTO orders VALUES (?, ?, ?, ?, ?, NULL)")
          .run(tenant, order.id, body, totalOf(order), day);
        if (changes === 1) return { known: "new", tasks: undefined };
        const row = db.prepare("SELECT body, tasks FROM orders WHERE tenant = ? AND id = ?").get(tenant, order.id);
        return {
          known: row?.body === body ? "same" : "different",
          tasks: typeof row?.tasks === "string" ? JSON.parse(row.tasks) : undefined,
        };
      },

      submitted(id: string, tasks: TaskIds): void {
        db.prepare("UPDATE orders SET tasks = ? WHERE tenant = ? AND id = ?").run(JSON.stringify(tasks), tenant, id);
      },

      /** Books lines in the same transaction as their key: a second call with the key changes nothing. */
      book(ledger: Ledger, key: string, lines: readonly Line[]): { booked: boolean } {
        db.exec("BEGIN IMMEDIATE");
        try {
          const { changes } = db.prepare("INSERT OR IGNORE INTO booked VALUES (?, ?)").run(tenant, key);
          const add = db.prepare(
            `INSERT INTO ${ledger} VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count`,
          );
          if (changes === 1) for (const line of lines) add.run(tenant, ...ledgers[ledger](line));
          db.exec("COMMIT");
          return { booked: changes === 1 };
        } catch (error) {
          db.exec("ROLLBACK");
          throw error;
        }
      },

      /** Changes of stock by SKU: -3 when three were sold. */
      stock: () => counts("SELECT name, count FROM stock WHERE tenant = ?"),
      /** Copies sold by title, the ten that sell best. */
      trending: () => counts("SELECT name, count FROM trending WHERE tenant = ? ORDER BY count DESC LIMIT 10"),

      salesOf(day: string): { orders: number; cents: number } {
        const row = db
          .prepare(
            "SELECT count(*) AS orders, coalesce(sum(cents), 0) AS cents FROM orders WHERE tenant = ? AND day = ?",
          )
          .get(tenant, day);
        return { orders: Number(row?.orders), cents: Number(row?.cents) };
      },
    };
  }
}
