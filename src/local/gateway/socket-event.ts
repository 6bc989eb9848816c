import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { APIGatewayProxyWebsocketEventV2 } from "aws-lambda";

/** A connection, for the events about it. */
export interface EventSource {
  connectionId: string;
  /** Epoch milliseconds. */
  connectedAt: number;
  sourceIp: string;
  userAgent: string;
}

type Context = APIGatewayProxyWebsocketEventV2["requestContext"];

const contextOf = (source: EventSource, eventType: Context["eventType"], routeKey: string) => ({
  routeKey,
  eventType,
  extendedRequestId: randomUUID(),
  requestTime: new Date().toUTCString(),
  messageDirection: "IN" as const,
  stage: "local",
  connectedAt: source.connectedAt,
  requestTimeEpoch: Date.now(),
  identity: { sourceIp: source.sourceIp, userAgent: source.userAgent },
  requestId: randomUUID(),
  domainName: "127.0.0.1",
  connectionId: source.connectionId,
  apiId: "local",
});

/** The event of `$connect`, as API Gateway sends it. A repeated query parameter has its last value. */
export function connectEvent(source: EventSource, { headers, url = "/" }: IncomingMessage) {
  const query = new URL(url, "http://127.0.0.1").searchParams;
  const single = Object.entries(headers).map(([name, value]) => [name, String(value)]);
  return {
    headers: Object.fromEntries(single) as Record<string, string>,
    queryStringParameters: query.size === 0 ? null : Object.fromEntries(query),
    requestContext: contextOf(source, "CONNECT", "$connect"),
    isBase64Encoded: false,
  };
}

/** The event of a client's message, which has no route of its own. */
export const messageEvent = (source: EventSource, body: string) => ({
  requestContext: { ...contextOf(source, "MESSAGE", "$default"), messageId: randomUUID() },
  body,
  isBase64Encoded: false,
});

/** The event of `$disconnect`. */
export const disconnectEvent = (source: EventSource, code: number, reason: string) => ({
  requestContext: {
    ...contextOf(source, "DISCONNECT", "$disconnect"),
    disconnectStatusCode: code,
    disconnectReason: reason,
  },
  isBase64Encoded: false,
});
