import * as z from "zod";
import { deliveryStates, receiverEvents, receiverHealths } from "../../core/model/words.ts";
import type {
  FailedWebhook,
  ReceiverDelivery,
  ReceiverSecret,
  ReceiverTry,
  ReceiverView,
  WebhookSecret,
  WebhookTries,
  WebhookTry,
} from "../acts/views.ts";
import { object, viewOf } from "./json-schema.ts";
import { count, flag, id, number, pageOf, text, textOrNull, time, timeOrNull } from "./words.ts";

const taskId = id.describe("Id of the task.");
const webhookId = text.describe("Id of the webhook: the same for each of its tries, and in the header `webhook-id`.");

const tried = {
  number: number.describe("Number of the try, from 1."),
  at: time.describe("Start of the try."),
  status: count.nullable().describe("HTTP status of the answer. Null: there was none."),
  error: textOrNull.describe("Why there was no answer."),
};
const duration_ms = count.describe("Duration of the try in milliseconds.");

const oneTry = viewOf<WebhookTry>()("WebhookTry", {
  webhook_id: webhookId,
  ...tried,
  duration_ms,
});

viewOf<WebhookTries>()("Deliveries", {
  state: z.enum(deliveryStates).nullable().describe("State of the task's newest webhook. Null: none was tried."),
  next_try_at: timeOrNull.describe("Time of the next try. Null: none follows."),
  deliveries: z.array(oneTry).describe("The tries of all webhooks of the task, oldest first."),
});

const failedDelivery = viewOf<FailedWebhook>()("FailedDelivery", {
  tenant_id: text.optional().describe("Tenant of the task. Only in a list of all tenants."),
  task_id: taskId,
  webhook_id: webhookId,
  type: text.describe("Type of the task."),
  url: text.describe("URL of the receiver."),
  status: z.literal("failed").describe("Always `failed`."),
  tries: count.describe("Number of tries."),
  last_try_at: timeOrNull.describe("Time of the last try."),
  last_status: count.nullable().describe("HTTP status of the last answer."),
  last_error: textOrNull.describe("Why the last try had no answer."),
});

pageOf("FailedDeliveryList", "deliveries", failedDelivery, "The webhooks that were given up.");

object("Redelivery", { task_id: taskId, webhook_id: webhookId });

const also_signing = count.describe("Number of earlier secrets that sign, too, for 24 hours after a rotation.");

viewOf<WebhookSecret>()("WebhookSecret", {
  tenant_id: text.describe("The tenant."),
  secret: text.describe("The newest secret: `whsec_` and base64."),
  also_signing,
});

const receiverId = id.describe("Id of the receiver.");

const receiver = viewOf<Omit<ReceiverView, "tenant_id">>()("Receiver", {
  webhook_id: receiverId,
  url: text.describe("Where its webhooks are sent."),
  events: z.array(z.enum(receiverEvents)).describe("The ends of tasks that it is told of."),
  types: z.array(text).nullable().describe("The types of the tasks. Null: all."),
  description: textOrNull.describe("A text for people."),
  enabled: flag.describe("False: it gets no webhook."),
  health: z.enum(receiverHealths).describe("`disabled`: by Offload, after five days of failures."),
  failing_since: timeOrNull.describe("First failed try since the last one that succeeded."),
  disabled_at: timeOrNull.describe("Time at which Offload disabled it."),
  created_by: text.describe("Principal that created it."),
  created_at: time.describe("Time of its creation."),
  updated_at: time.describe("Time of the last change, also of its health."),
});

object("CreatedReceiver", {
  ...receiver.shape,
  secret: text.describe("Signs its webhooks: `whsec_` and base64. Shown once."),
});

const receiverOfTenant = receiver.extend({
  tenant_id: text.optional().describe("Tenant of the receiver. Only in a list of all tenants."),
});

pageOf("ReceiverList", "webhooks", receiverOfTenant, "Oldest first.");

viewOf<ReceiverSecret>()("ReceiverSecret", {
  webhook_id: receiverId,
  secret: text.describe("The new secret: `whsec_` and base64."),
  also_signing,
});

object("ReceiverTest", { webhook_id: receiverId, delivery_id: webhookId });

const receiverTry = viewOf<ReceiverTry>()("ReceiverTry", {
  ...tried,
  answer: textOrNull.describe("The start of the answer's body, at most 1,024 bytes of it."),
  duration_ms,
});

const receiverDelivery = viewOf<ReceiverDelivery>()("ReceiverDelivery", {
  delivery_id: webhookId,
  task_id: taskId.nullable().describe("Id of the task. Null: it tests the receiver."),
  type: text.describe("Type of the task."),
  event: text.describe("`type` of the webhook."),
  url: text.describe("URL of the last try."),
  status: z.enum(deliveryStates).describe("`failed`: given up."),
  created_at: time.describe("Time of the first try."),
  next_try_at: timeOrNull.describe("Time of the next try. Null: none follows."),
  body: text.describe("The request's body, at most 64 KiB of it."),
  tries: z.array(receiverTry).describe("Oldest first."),
});

pageOf("ReceiverDeliveryList", "deliveries", receiverDelivery, "Newest first.");
