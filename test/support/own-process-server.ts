import { parseLocalKeys } from "../../src/api/http/authorizer.ts";
import { tableClient } from "../../src/aws/clients.ts";
import { DynamoConnections } from "../../src/aws/connections.ts";
import { DynamoTable } from "../../src/aws/dynamo-table.ts";
import { systemClock } from "../../src/aws/process.ts";
import { ApiGatewaySocket } from "../../src/aws/socket.ts";
import { hashSecret } from "../../src/core/model/keys.ts";
import type { PushPorts } from "../../src/core/notify/push-notice.ts";
import { defaultKeys, readLocalSettings } from "../../src/local/deployment/settings.ts";
import { startServer } from "../../src/local/server/server.ts";
import { MemorySlowHosts } from "../../src/memory/deliveries.ts";
import { localTable } from "../../src/settings/config.ts";

/** A local server in this process, which can have only one. It keeps nothing. */
export async function startHere(given: Record<string, string> = {}) {
  const ports = { PORT: "0", OFFLOAD_DYNAMODB_PORT: "0", OFFLOAD_SQS_PORT: "0" };
  Object.assign(process.env, given);
  const settings = readLocalSettings({ ...process.env, ...ports }, true);
  const lines: string[] = [];
  const server = await startServer(settings, (line) => lines.push(line));
  return { ...server, lines };
}

const silent = { debug() {}, info() {}, warn() {}, error() {}, with: () => silent };

/** The ports with which the function notify sends messages, in the process of the server. */
export const pushPorts = (): PushPorts => ({
  clock: systemClock,
  connections: new DynamoConnections(new DynamoTable(tableClient(), localTable)),
  socket: new ApiGatewaySocket(process.env.OFFLOAD_SOCKET_ENDPOINT ?? ""),
  slowHosts: new MemorySlowHosts(),
  drops: new Map(),
  random: Math.random,
  log: silent,
});

/** The principal of one of the server's keys. */
export const principalOf = (token: string): string =>
  parseLocalKeys(defaultKeys).get(hashSecret(token))?.principal ?? "";
