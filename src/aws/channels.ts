import { randomBytes } from "node:crypto";
import { type DynamoDBDocumentClient, PutCommand, UpdateCommand } from "#aws-sdk/lib-dynamodb";
import type { Channel, Channels } from "../core/ports/push.ts";
import { ifConditionHolds } from "./errors.ts";
import { keys } from "./table.ts";

const port = "the table";

/** Creates the ticket of a channel. */
export const newTicket = (): string => randomBytes(32).toString("base64url");

/** An expired item is kept for this time, in seconds. */
const keepSeconds = 3600;

/** Channels in DynamoDB. The TTL deletes them. */
export class DynamoChannels implements Channels {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;

  constructor(client: DynamoDBDocumentClient, table: string) {
    this.#client = client;
    this.#table = table;
  }

  async admit(channel: Channel, minute: number, most: number): Promise<boolean> {
    const command = new UpdateCommand({
      TableName: this.#table,
      Key: keys.channelCount(channel, minute),
      UpdateExpression: "ADD opened :one SET purge_at = :purge_at",
      ConditionExpression: "attribute_not_exists(opened) OR opened < :most",
      ExpressionAttributeValues: { ":one": 1, ":most": most, ":purge_at": minute * 60 + keepSeconds },
    });
    return (await ifConditionHolds(port, this.#client.send(command))) !== undefined;
  }

  async create(ticketHash: string, channel: Channel, expiresAtMs: number): Promise<void> {
    const Item = {
      ...channel,
      ...keys.channel(ticketHash),
      expires_at_ms: expiresAtMs,
      purge_at: Math.ceil(expiresAtMs / 1000) + keepSeconds,
    };
    // A late second try of the client must not make a used ticket valid again.
    const ConditionExpression = "attribute_not_exists(pk)";
    await ifConditionHolds(
      port,
      this.#client.send(new PutCommand({ TableName: this.#table, Item, ConditionExpression })),
    );
  }

  async redeem(ticketHash: string, connectionId: string, nowMs: number): Promise<Channel | undefined> {
    const command = new UpdateCommand({
      TableName: this.#table,
      Key: keys.channel(ticketHash),
      UpdateExpression: "SET taken_by = :connection",
      ConditionExpression:
        "attribute_exists(pk) AND expires_at_ms > :now AND (attribute_not_exists(taken_by) OR taken_by = :connection)",
      ExpressionAttributeValues: { ":connection": connectionId, ":now": nowMs },
      ReturnValues: "ALL_NEW",
    });
    const { Attributes } = (await ifConditionHolds(port, this.#client.send(command))) ?? {};
    if (Attributes === undefined) return undefined;
    const { channel_id, tenant_id, principal, scope } = Attributes as unknown as Channel;
    return { channel_id, tenant_id, principal, scope };
  }
}
