import { ConditionalCheckFailedException, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, GetCommand, PutCommand, QueryCommand } from "@aws-sdk/lib-dynamodb";
import type { Users } from "./users.ts";

/** Users in a DynamoDB table with the keys `email` and `item`. */
export function dynamoUsers(table: string): Users {
  const client = DynamoDBDocumentClient.from(new DynamoDBClient());

  const get = async (email: string, item: string) => {
    const found = await client.send(new GetCommand({ TableName: table, Key: { email, item }, ConsistentRead: true }));
    return found.Item;
  };
  const put = (item: { email: string; item: string; [name: string]: string }) =>
    client.send(new PutCommand({ TableName: table, Item: item }));
  /** Puts an item that does not exist yet. Returns false when it does. */
  async function add(item: { email: string; item: string; [name: string]: string }): Promise<boolean> {
    try {
      await client.send(
        new PutCommand({ TableName: table, Item: item, ConditionExpression: "attribute_not_exists(email)" }),
      );
      return true;
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) return false;
      throw error;
    }
  }
  /** Makes a login the first one of its kind, unless there is one. Returns true when it is, also in a repeat. */
  const isFirst = async (email: string, item: string, login: string) =>
    (await add({ email, item, login })) || (await get(email, item))?.login === login;

  async function lastLogin(email: string): Promise<string | undefined> {
    const { Items = [] } = await client.send(
      new QueryCommand({
        TableName: table,
        KeyConditionExpression: "email = :email AND begins_with(#item, :login)",
        ExpressionAttributeNames: { "#item": "item" },
        ExpressionAttributeValues: { ":email": email, ":login": "login#" },
        ScanIndexForward: false,
        Limit: 1,
      }),
    );
    return Items[0]?.at;
  }

  return {
    add: (email, password) => add({ email, item: "user", password }),
    async find(email) {
      const user = await get(email, "user");
      return user && { email, password: user.password, lastLogin: await lastLogin(email) };
    },
    async noteLogin(email, { id, at, device }) {
      await put({ email, item: `login#${at}#${id}`, at, device });
      const ofUser = await isFirst(email, "first login", id);
      const ofDevice = await isFirst(email, `device#${device}`, id);
      return ofDevice && !ofUser;
    },
  };
}
