import { deliveryListSchema } from "../http/deliveries.ts";
import { receiverDeliveryListSchema, receiverListSchema, replayDeliveriesSchema } from "../http/receiver-routes.ts";
import { described, operationAnswers, page } from "./describe.ts";
import { withName } from "./json-schema.ts";

/** The routes of webhooks. */
export const webhookTexts = described("webhooks", {
  listDeliveries: {
    summary: "List the tries of a task's webhooks",
    description: "Oldest first. A task that was retried has one webhook for each of its ends.",
    answers: { 200: ["Deliveries", "The tries."] },
  },
  listFailedDeliveries: {
    summary: "List the webhooks that failed permanently",
    description: `Newest first. ${page}`,
    role: "viewer",
    query: deliveryListSchema,
    answers: { 200: ["FailedDeliveryList", "One page of webhooks."] },
  },
  listReceivers: {
    summary: "List the receivers of webhooks",
    description: `Oldest first; those of all tenants by tenant. ${page}`,
    role: "viewer",
    query: receiverListSchema,
    answers: { 200: ["ReceiverList", "One page of receivers."] },
  },
  readReceiver: {
    summary: "Read a receiver of webhooks",
    role: "viewer",
    answers: { 200: ["Receiver", "The receiver."] },
  },
  listReceiverDeliveries: {
    summary: "List the deliveries of a receiver",
    description: `Newest first. ${page}`,
    role: "viewer",
    query: receiverDeliveryListSchema,
    answers: { 200: ["ReceiverDeliveryList", "One page of deliveries."] },
  },
  replayDeliveries: {
    summary: "Deliver webhooks of a receiver again",
    description:
      "Delivers the webhooks again that began in a range of time, at most 10,000. Default: all webhooks that failed permanently. A replay counts toward the tenant's `submits_per_second`, as one request; a dry run does not.",
    role: "operator",
    body: withName("DeliveryReplay", replayDeliveriesSchema),
    example: { after: "2027-01-01T00:00:00Z", status: "failed" },
    answers: operationAnswers,
    problems: ["rate_limited"],
  },
});
