import { WrittenLater } from "../core/model/errors.ts";
import type { Channel, Channels } from "../core/ports/notify.ts";
import { randomBytes } from "../util/node-crypto.ts";
import { type DynamoTable, fieldsOf, isKnown, isNew } from "./dynamo-table.ts";
import { keys } from "./table.ts";

/** Creates the ticket of a channel. */
export const newTicket = (): string => randomBytes(32).toString("base64url");

/** An expired item is kept for this time, in seconds. */
const keepSeconds = 3600;

/** Channels in DynamoDB. The TTL deletes them. */
export class DynamoChannels implements Channels {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  admit(channel: Channel, minute: number, max: number): Promise<boolean> {
    return this.#table.updateIf(keys.channelCount(channel, minute), {
      UpdateExpression: "ADD opened :one SET purge_at = :purge_at",
      ConditionExpression: "attribute_not_exists(opened) OR opened < :most",
      ExpressionAttributeValues: { ":one": 1, ":most": max, ":purge_at": minute * 60 + keepSeconds },
    });
  }

  async create(ticketHash: string, channel: Channel, expiresAtMs: number): Promise<void> {
    const item = {
      ...channel,
      ...keys.channel(ticketHash),
      expires_at_ms: expiresAtMs,
      purge_at: Math.ceil(expiresAtMs / 1000) + keepSeconds,
    };
    // A late second try of the client must not make a used ticket valid again.
    await this.#table.putIf(item, isNew);
  }

  async redeem(ticketHash: string, connectionId: string, nowMs: number): Promise<Channel | undefined> {
    const redeemed = await this.#table.updated(keys.channel(ticketHash), {
      UpdateExpression: "SET taken_by = :connection",
      ConditionExpression:
        "attribute_exists(pk) AND expires_at_ms > :now AND (attribute_not_exists(taken_by) OR taken_by = :connection)",
      ExpressionAttributeValues: { ":connection": connectionId, ":now": nowMs },
    });
    if (redeemed === undefined) return undefined;
    const { channel_id, tenant_id, principal, scope } = fieldsOf<Channel>(redeemed);
    if (!isKnown(redeemed) || !["own", "tenant"].includes(scope)) throw new WrittenLater("a channel");
    return { channel_id, tenant_id, principal, scope };
  }
}
