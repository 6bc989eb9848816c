import { type DynamoDBDocumentClient, GetCommand, UpdateCommand } from "#aws-sdk/lib-dynamodb";
import { intervalMs, placesOfTenant, type Release, type Waits } from "../core/ports/waiting.ts";
import { ifConditionHolds, viaPort } from "./errors.ts";
import { hashOf, keys } from "./table.ts";

const port = "the table";

/** An interval's item is kept for this time after its start, in seconds. */
const keepSeconds = 3600;

/**
 * The attribute that counts a tenant's waiting requests in an interval. Tenants share 64 of them, so that the item stays below
 * one write unit of 1 KB; tenants with the same attribute also share its half of the places.
 */
export const waitSlot = (tenantId: string): string => `slot_${hashOf(tenantId) % 64}`;

/**
 * Places of waiting requests in DynamoDB: an item for each interval, with the places that were taken in it and not given back. The
 * places of the interval before are read first; they only become fewer.
 */
export class DynamoWaits implements Waits {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;
  readonly #places: number;

  /** @param places Number of places. 0: no request waits, and the table is not asked. */
  constructor(client: DynamoDBDocumentClient, table: string, places: number) {
    this.#client = client;
    this.#table = table;
    this.#places = places;
  }

  async admit(tenantId: string, nowMs: number): Promise<Release | undefined> {
    if (this.#places === 0) return undefined;
    const interval = Math.floor(nowMs / intervalMs);
    const slot = waitSlot(tenantId);
    const before = await this.#read(interval - 1);
    const room = this.#places - Number(before?.taken ?? 0);
    const tenantRoom = placesOfTenant(this.#places) - Number(before?.[slot] ?? 0);
    if (room <= 0 || tenantRoom <= 0) return undefined;
    const taken = await this.#update(interval, {
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
    await this.#update(interval, {
      UpdateExpression: "ADD taken :less, #slot :less",
      ConditionExpression: "taken > :none AND #slot > :none",
      ExpressionAttributeNames: { "#slot": slot },
      ExpressionAttributeValues: { ":less": -1, ":none": 0 },
    });
  }

  async #read(interval: number): Promise<Record<string, unknown> | undefined> {
    const command = new GetCommand({ TableName: this.#table, Key: keys.waits(interval), ConsistentRead: true });
    return (await viaPort(port, this.#client.send(command))).Item;
  }

  /** Returns false when the condition did not hold. */
  async #update(interval: number, update: object): Promise<boolean> {
    const command = new UpdateCommand({ TableName: this.#table, Key: keys.waits(interval), ...update });
    return (await ifConditionHolds(port, this.#client.send(command))) !== undefined;
  }
}
