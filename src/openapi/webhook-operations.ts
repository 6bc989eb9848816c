import { deliveryListSchema } from "../http/deliveries.ts";
import { receiverDeliveryListSchema, receiverListSchema, replayDeliveriesSchema } from "../http/receiver-routes.ts";
import type { AnyRouteName } from "../http/routes.ts";
import { withName } from "./json-schema.ts";
import type { Operation } from "./operation.ts";
import { operationAnswers, page, restartProblems, uncached } from "./operation-parts.ts";
import * as answers from "./webhook-answers.ts";

/** The routes of webhooks. */
export const webhookOperations = {
  listDeliveries: {
    tag: "webhooks",
    summary: "List the tries of a task's webhooks",
    description: "Oldest first. A task that was retried has one webhook for each of its ends.",
    answers: { 200: uncached("The tries.", answers.deliveries) },
    problems: ["not_found"],
  },
  listFailedDeliveries: {
    tag: "webhooks",
    summary: "List the webhooks that failed permanently",
    description: `Newest first. ${page}`,
    role: "viewer",
    query: deliveryListSchema,
    answers: { 200: uncached("One page of webhooks.", answers.failedDeliveryList) },
    problems: ["malformed_request"],
  },
  listReceivers: {
    tag: "webhooks",
    summary: "List the receivers of webhooks",
    description: `Oldest first; those of all tenants by tenant. ${page}`,
    role: "viewer",
    query: receiverListSchema,
    answers: { 200: uncached("One page of receivers.", answers.receiverList) },
    problems: ["malformed_request"],
  },
  readReceiver: {
    tag: "webhooks",
    summary: "Read a receiver of webhooks",
    role: "viewer",
    answers: { 200: uncached("The receiver.", answers.receiver) },
    problems: ["not_found"],
  },
  listReceiverDeliveries: {
    tag: "webhooks",
    summary: "List the deliveries of a receiver",
    description: `Newest first. ${page}`,
    role: "viewer",
    query: receiverDeliveryListSchema,
    answers: { 200: uncached("One page of deliveries.", answers.receiverDeliveryList) },
    problems: ["malformed_request", "not_found"],
  },
  replayDeliveries: {
    tag: "webhooks",
    summary: "Deliver webhooks of a receiver again",
    description:
      "Delivers the webhooks again that began in a range of time, at most 10,000. Default: all webhooks that failed permanently. A replay counts toward the tenant's `submits_per_second`, as one request; a dry run does not.",
    role: "operator",
    body: withName("DeliveryReplay", replayDeliveriesSchema),
    example: { after: "2027-01-01T00:00:00Z", status: "failed" },
    answers: operationAnswers,
    problems: [...restartProblems, "not_found"],
  },
} as const satisfies Partial<Record<AnyRouteName, Operation>>;
