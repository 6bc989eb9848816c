import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { endsInTime } from "../src/aws/call-times.ts";
import { DynamoConnections } from "../src/aws/connections.ts";
import { DynamoDeliveries, DynamoSlowHosts } from "../src/aws/deliveries-store.ts";
import { DynamoFamilies } from "../src/aws/families.ts";
import { createLog } from "../src/aws/log.ts";
import { observed } from "../src/aws/observed.ts";
import { DynamoReceivers } from "../src/aws/receivers.ts";
import { DynamoSecretVersions } from "../src/aws/secret-versions.ts";
import { createTracing } from "../src/aws/tracing.ts";
import { webhookKeyOf, webhookKeySettings } from "../src/aws/webhook-key.ts";
import { dispatchPorts, dispatchSettings } from "../src/aws/wiring.ts";
import { WrittenLater } from "../src/core/model/errors.ts";
import { type NotifyPorts, notify, parseNotice } from "../src/core/notify/notify.ts";
import { receiverSecrets, webhookSecrets } from "../src/core/notify/secret.ts";
import { sayLater } from "../src/core/pipeline/send/dispatch.ts";
import type { Connections, EventBus, Socket } from "../src/core/ports/notify.ts";
import { fromEnv } from "../src/settings/config.ts";
import { createWebhookSender } from "../src/webhooks/send-webhook.ts";
import { signedHeaders } from "../src/webhooks/sign.ts";

const config = fromEnv(process.env, [
  ...dispatchSettings,
  ...webhookKeySettings,
  "callbackHosts",
  "socketEndpoint",
  "eventBus",
  "eventSource",
  "timeScale",
]);
const log = createLog("notify");
const base = dispatchPorts(config, log);
const { clock, table } = base;
const tracing = await createTracing();
const key = webhookKeyOf(config, clock);
const secrets = webhookSecrets({ clock, key, versions: new DynamoSecretVersions(table) });

/** Connections of the WebSocket API. Its client loads with the first message for a connection. */
function socketOf(endpoint: string | undefined): Socket {
  if (endpoint === undefined) return { post: async () => "gone", close: async () => {} };
  const opening = import("../src/aws/socket.ts").then(({ ApiGatewaySocket }) => new ApiGatewaySocket(endpoint));
  return {
    post: async (...message) => (await opening).post(...message),
    close: async (...id) => (await opening).close(...id),
  };
}

/** Without push there are no connections, and the function may not look for them. */
const noConnections: Connections = { hearing: async () => [], remove: async () => {} };

/** The event bus. Its client loads with the first event. */
function busOf(): EventBus | undefined {
  if (config.eventBus === undefined) return undefined;
  const opening = import("../src/aws/event-bus.ts").then(
    ({ EventBridgeBus, eventBusClient }) => new EventBridgeBus(eventBusClient(), config),
  );
  return { put: async (events) => (await opening).put(events) };
}

const ports: NotifyPorts = {
  ...base,
  families: new DynamoFamilies(table),
  random: Math.random,
  timeScale: config.timeScale,
  deliveries: new DynamoDeliveries(table),
  receivers: new DynamoReceivers(table),
  slowHosts: new DynamoSlowHosts(table),
  sender: createWebhookSender({ allowedHosts: config.callbackHosts }),
  signer: {
    sign: async (tenantId, id, nowMs, body, receiver) => {
      const own = receiver === undefined ? secrets.of(tenantId) : receiverSecrets({ clock, key }, receiver);
      return signedHeaders(await own, id, nowMs, body);
    },
  },
  eventBus: busOf(),
  connections: config.notifyPush ? new DynamoConnections(table) : noConnections,
  socket: socketOf(config.socketEndpoint),
  drops: new Map(),
};

/** Handles each message of a batch at the same time. A message that fails is delivered again. */
async function handle(event: SQSEvent): Promise<SQSBatchResponse> {
  const failures = await Promise.all(
    event.Records.map(async ({ messageId, body }) => {
      try {
        await notify(ports, parseNotice(body));
        return [];
      } catch (error) {
        if (error instanceof WrittenLater) sayLater(base, error);
        else
          log.error("could not handle a notice; it is delivered again", {
            message_id: messageId,
            error: String(error),
          });
        return [{ itemIdentifier: messageId }];
      }
    }),
  );
  return { batchItemFailures: failures.flat() };
}

export const handler = endsInTime(observed({ metrics: base.metrics, tracing }, handle));
