import { deliveryListSchema } from "../http/deliveries.ts";
import type { AnyRouteName } from "../http/routes.ts";
import type { Operation } from "./operation.ts";
import { bodyProblems, emptyBody, page, uncached } from "./operation-parts.ts";
import * as answers from "./webhook-answers.ts";

/** The routes of webhooks. */
export const webhookOperations = {
  listDeliveries: {
    tag: "webhooks",
    summary: "List the tries of a task's webhooks",
    description: "Oldest first. A task that was retried has a webhook for each end.",
    answers: { 200: uncached("The tries.", answers.deliveries) },
    problems: ["not_found"],
  },
  listFailedDeliveries: {
    tag: "webhooks",
    summary: "List the webhooks that were given up",
    description: `Newest first. ${page}`,
    role: "operator",
    query: deliveryListSchema,
    answers: { 200: uncached("One page of webhooks.", answers.failedDeliveryList) },
    problems: ["malformed_request"],
  },
  redeliverTask: {
    tag: "webhooks",
    summary: "Deliver the webhook of a task again",
    description: "Starts a new series of tries with the same id and body, also after a success.",
    body: emptyBody,
    bodyOptional: true,
    answers: { 202: { description: "The webhook is sent again.", body: answers.redelivery } },
    problems: [...bodyProblems, "not_found", "conflict"],
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
} as const satisfies Partial<Record<AnyRouteName, Operation>>;
