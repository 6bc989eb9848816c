import { newReceiverSchema, receiverChangeSchema } from "../core/notify/manage-receivers.ts";
import { deliveryListSchema } from "../http/deliveries.ts";
import { receiverDeliveryListSchema, receiverListSchema, replayDeliveriesSchema } from "../http/receivers.ts";
import type { AnyRouteName } from "../http/routes.ts";
import { withName } from "./json-schema.ts";
import type { Operation } from "./operation.ts";
import {
  bodyProblems,
  emptyBody,
  jsonProblems,
  operationAnswers,
  page,
  restartProblems,
  uncached,
} from "./operation-parts.ts";
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
    role: "operator",
    query: deliveryListSchema,
    answers: { 200: uncached("One page of webhooks.", answers.failedDeliveryList) },
    problems: ["malformed_request"],
  },
  readWebhookSecret: {
    tag: "webhooks",
    summary: "Show the secret that signs the tenant's webhooks",
    role: "operator",
    answers: { 200: uncached("The secret.", answers.webhookSecret) },
    problems: [],
  },
  rotateWebhookSecret: {
    tag: "webhooks",
    summary: "Make a new secret for the tenant's webhooks",
    description: "For 24 hours the earlier secret signs as well. `conflict`: four rotations within 24 hours.",
    role: "operator",
    body: emptyBody,
    bodyOptional: true,
    answers: { 200: uncached("The new secret.", answers.webhookSecret) },
    problems: [...bodyProblems, "conflict"],
  },
  listReceivers: {
    tag: "webhooks",
    summary: "List the receivers of webhooks",
    description: `Oldest first; those of all tenants by tenant. ${page}`,
    role: "operator",
    query: receiverListSchema,
    answers: { 200: uncached("One page of receivers.", answers.receiverList) },
    problems: ["malformed_request"],
  },
  createReceiver: {
    tag: "webhooks",
    summary: "Create a receiver of webhooks",
    description:
      "The receiver gets a webhook for each end of a task that its filter matches, in addition to a task's own `callback`. The request for a tenant's first receiver takes 2.5 s, until " +
      "each process knows of it. `quota_exceeded`: the tenant has 20 receivers.",
    role: "operator",
    body: withName("NewReceiver", newReceiverSchema),
    example: { url: "https://shop.example.com/hooks/offload", events: ["task.failed"] },
    answers: {
      201: {
        ...uncached("The receiver, with its secret.", answers.newReceiver),
        headers: ["Location", "Cache-Control"],
      },
    },
    problems: [...jsonProblems, "quota_exceeded"],
  },
  readReceiver: {
    tag: "webhooks",
    summary: "Read a receiver of webhooks",
    role: "operator",
    answers: { 200: uncached("The receiver.", answers.receiver) },
    problems: ["not_found"],
  },
  changeReceiver: {
    tag: "webhooks",
    summary: "Change a receiver of webhooks",
    description:
      "Replaces each given field. `enabled: true` enables a receiver that was disabled, and resets its count of failures.",
    role: "operator",
    body: withName("ReceiverChange", receiverChangeSchema),
    example: { enabled: true },
    answers: { 200: uncached("The receiver after the change.", answers.receiver) },
    problems: [...jsonProblems, "not_found"],
  },
  deleteReceiver: {
    tag: "webhooks",
    summary: "Delete a receiver of webhooks",
    description: "Its webhooks have no further tries.",
    role: "operator",
    answers: { 204: { description: "The receiver is deleted." } },
    problems: ["not_found"],
  },
  testReceiver: {
    tag: "webhooks",
    summary: "Send a webhook that tests a receiver",
    description:
      "Its `type` is `webhook.test`. `conflict`: the receiver is disabled. Tests count toward the tenant's `submits_per_second`.",
    role: "operator",
    body: emptyBody,
    bodyOptional: true,
    answers: { 202: { description: "The webhook is sent.", body: answers.receiverTest } },
    problems: [...bodyProblems, "not_found", "conflict", "rate_limited"],
  },
  rotateReceiverSecret: {
    tag: "webhooks",
    summary: "Make a new secret for a receiver",
    description: "For 24 hours the earlier secret signs as well. `conflict`: four rotations within 24 hours.",
    role: "operator",
    body: emptyBody,
    bodyOptional: true,
    answers: { 200: uncached("The new secret.", answers.receiverSecret) },
    problems: [...bodyProblems, "not_found", "conflict"],
  },
  listReceiverDeliveries: {
    tag: "webhooks",
    summary: "List the deliveries of a receiver",
    description: `Newest first. ${page}`,
    role: "operator",
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
