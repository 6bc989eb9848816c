import type { APIGatewayProxyStructuredResultV2, APIGatewayProxyWebsocketEventV2 } from "aws-lambda";
import { DynamoApiKeys } from "../src/aws/api-keys.ts";
import { answersWithin, apiMs } from "../src/aws/call-times.ts";
import { DynamoChannels } from "../src/aws/channels.ts";
import { tableClient } from "../src/aws/clients.ts";
import { DynamoConnections } from "../src/aws/connections.ts";
import { DynamoTable } from "../src/aws/dynamo-table.ts";
import { createLog } from "../src/aws/log.ts";
import { systemClock } from "../src/aws/process.ts";
import { type Connected, connect, disconnect, replyTo } from "../src/core/notify/connect.ts";
import { fromEnv } from "../src/settings/config.ts";

const config = fromEnv(process.env, ["table"]);
const table = new DynamoTable(tableClient(), config.table);
const log = createLog("socket");
const ports = {
  clock: systemClock,
  channels: new DynamoChannels(table),
  connections: new DynamoConnections(table),
  keys: new DynamoApiKeys(table),
};

/** Status with which API Gateway answers the request for a connection. */
const statuses: Record<Connected, number> = {
  connected: 200,
  "no ticket": 401,
  "wrong ticket": 403,
  "revoked key": 403,
  "too many connections": 429,
};

/** An event of a WebSocket API. Only that of `$connect` has a query. */
type SocketEvent = APIGatewayProxyWebsocketEventV2 & {
  queryStringParameters?: Readonly<Record<string, string | undefined>> | null;
};

async function answer(event: SocketEvent): Promise<APIGatewayProxyStructuredResultV2> {
  const { eventType, connectionId } = event.requestContext;
  if (eventType === "MESSAGE") return { statusCode: 200, body: replyTo(event.body ?? "") };
  if (eventType === "DISCONNECT") {
    await disconnect(ports, connectionId);
    return { statusCode: 200 };
  }
  const connected = await connect(ports, event.queryStringParameters?.ticket, connectionId);
  if (connected !== "connected") log.info("a connection was refused", { reason: connected });
  return { statusCode: statuses[connected] };
}

export const handler = answersWithin(apiMs, (event: SocketEvent) =>
  answer(event).catch((error: unknown): APIGatewayProxyStructuredResultV2 => {
    log.error("could not answer a connection's event", {
      event: event.requestContext.eventType,
      error: error instanceof Error ? (error.stack ?? String(error)) : String(error),
    });
    return { statusCode: 500 };
  }),
);
