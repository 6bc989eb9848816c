import type { Page } from "../core/ports/tasks.ts";
import type { FiringProgress, Firings, Tenants } from "../core/schedules/ports.ts";
import { type DynamoTable, isNew } from "./dynamo-table.ts";
import { directoryPartitions, keys } from "./table.ts";

/** The directory of tenants in the table, with one item for each tenant, in several partitions. */
export class DynamoTenants implements Tenants {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  async note(tenantId: string): Promise<void> {
    await this.#table.putIf(keys.tenantEntry(tenantId), isNew);
  }

  /**
   * Reads all partitions from the same id on, and merges them. The merged list is complete up to where the first one
   * stopped.
   */
  async list(page: { limit: number; from?: string | undefined }): Promise<Page<string>> {
    const answers = await Promise.all(directoryPartitions.map((partition) => this.#query(partition, page)));
    const stop = answers.flatMap(({ stoppedAt }) => stoppedAt ?? []).sort()[0];
    const found = [...new Set(answers.flatMap(({ ids }) => ids))].sort();
    const complete = stop === undefined ? found : found.filter((id) => id <= stop);
    const items = complete.slice(0, page.limit);
    return { items, next: items.length < complete.length || stop !== undefined ? items.at(-1) : undefined };
  }

  async #query(partition: string, { limit, from }: { limit: number; from?: string | undefined }) {
    const { items, last } = await this.#table.page({
      KeyConditionExpression: from === undefined ? "pk = :pk" : "pk = :pk AND sk > :from",
      ExpressionAttributeValues: { ":pk": partition, ...(from === undefined ? {} : { ":from": from }) },
      ConsistentRead: false,
      Limit: limit,
    });
    return { ids: items.map(({ sk }) => String(sk)), stoppedAt: last?.sk as string | undefined };
  }
}

/** Progress of firings for each tenant, in the table. */
export class DynamoFirings implements Firings {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  async load(scheduleId: string, scheduledFor: string): Promise<FiringProgress | undefined> {
    return (await this.#table.get(keys.firing(scheduleId, scheduledFor)))?.progress as FiringProgress | undefined;
  }

  save(scheduleId: string, scheduledFor: string, progress: FiringProgress, purgeAt: number): Promise<void> {
    return this.#table.put({ ...keys.firing(scheduleId, scheduledFor), progress, purge_at: purgeAt });
  }
}
