import type { SignalLink, SignalLinks } from "../core/ports/steps.ts";
import { type DynamoTable, fieldsOf, isNew } from "./dynamo-table.ts";

/** An expired item is kept for this time, in seconds. */
const keepSeconds = 3600;

const keyOf = (secretHash: string) => ({ pk: `signal-link#${secretHash}`, sk: "signal-link" });

/** Links in DynamoDB. The TTL deletes them. */
export class DynamoSignalLinks implements SignalLinks {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  async create(secretHash: string, link: SignalLink, expiresAtMs: number): Promise<void> {
    const purge_at = Math.ceil(expiresAtMs / 1000) + keepSeconds;
    await this.#table.putIf({ ...link, ...keyOf(secretHash), expires_at_ms: expiresAtMs, purge_at }, isNew);
  }

  async find(secretHash: string, nowMs: number): Promise<SignalLink | undefined> {
    const item = await this.#table.get(keyOf(secretHash));
    if (item === undefined) return undefined;
    const { expires_at_ms, tenant_id, task_id, created_at, name, schema } = fieldsOf<
      SignalLink & { expires_at_ms: number }
    >(item);
    if (expires_at_ms <= nowMs) return undefined;
    return { tenant_id, task_id, created_at, name, ...(schema !== undefined && { schema }) };
  }
}
