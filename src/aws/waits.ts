import { intervalMs, permitsOfTenant, type Release, type Waits } from "../core/control/task-ends.ts";
import type { DynamoTable } from "./dynamo-table.ts";
import { hashOf, keys } from "./table.ts";

/** An interval's item is kept for this time after its start, in seconds. */
const keepSeconds = 3600;

/**
 * The attribute that counts a tenant's waiting requests in an interval. Tenants share 64 of them, so that the item
 * stays below one write unit of 1 KB; tenants with the same attribute also share its half of the permits.
 */
export const waitSlot = (tenantId: string): string => `slot_${hashOf(tenantId) % 64}`;

/**
 * Permits of waiting requests in DynamoDB: an item for each interval, with the permits that were taken in it and not
 * given back. The permits of the interval before are read first; they only become fewer.
 */
export class DynamoWaits implements Waits {
  readonly #table: DynamoTable;
  readonly #permits: number;

  /** @param permits Number of permits. 0: no request waits, and the table is not asked. */
  constructor(table: DynamoTable, permits: number) {
    this.#table = table;
    this.#permits = permits;
  }

  async admit(tenantId: string, nowMs: number): Promise<Release | undefined> {
    if (this.#permits === 0) return undefined;
    const interval = Math.floor(nowMs / intervalMs);
    const slot = waitSlot(tenantId);
    const before = await this.#table.get(keys.waits(interval - 1));
    const room = this.#permits - Number(before?.taken ?? 0);
    const tenantRoom = permitsOfTenant(this.#permits) - Number(before?.[slot] ?? 0);
    if (room <= 0 || tenantRoom <= 0) return undefined;
    const taken = await this.#table.updateIf(keys.waits(interval), {
      UpdateExpression: "ADD taken :one, #slot :one SET purge_at = :purge_at",
      ConditionExpression:
        "(attribute_not_exists(taken) OR taken < :room) AND (attribute_not_exists(#slot) OR #slot < :tenant_room)",
      ExpressionAttributeNames: { "#slot": slot },
      ExpressionAttributeValues: {
        ":one": 1,
        ":room": room,
        ":tenant_room": tenantRoom,
        ":purge_at": Math.ceil((interval * intervalMs) / 1000) + keepSeconds,
      },
    });
    return taken ? () => this.#release(interval, slot) : undefined;
  }

  async #release(interval: number, slot: string): Promise<void> {
    await this.#table.updateIf(keys.waits(interval), {
      UpdateExpression: "ADD taken :less, #slot :less",
      ConditionExpression: "taken > :none AND #slot > :none",
      ExpressionAttributeNames: { "#slot": slot },
      ExpressionAttributeValues: { ":less": -1, ":none": 0 },
    });
  }
}
