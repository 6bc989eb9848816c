import * as z from "zod";
import type { FailedWebhook, WebhookSecret, WebhookTries, WebhookTry } from "../http/views.ts";
import { withName } from "./json-schema.ts";

const taskId = z.uuid().describe("Id of the task.");
const webhookId = z
  .string()
  .describe("Id of the webhook: the same for each of its tries, and in the header `webhook-id`.");
const time = z.iso.datetime();

const oneTry = withName(
  "WebhookTry",
  z.object({
    webhook_id: webhookId,
    number: z.int().min(1).describe("Number of the try, from 1."),
    at: time.describe("Start of the try."),
    status: z.int().min(0).nullable().describe("HTTP status of the answer. Null: there was none."),
    error: z.string().nullable().describe("Why there was no answer."),
    duration_ms: z.int().min(0).describe("Duration of the try in milliseconds."),
  }) satisfies z.ZodType<WebhookTry>,
);

export const deliveries = withName(
  "Deliveries",
  z.object({
    state: z
      .enum(["pending", "delivered", "failed"])
      .nullable()
      .describe("State of the task's newest webhook. Null: none was tried."),
    next_try_at: time.nullable().describe("Time of the next try. Null: none follows."),
    deliveries: z.array(oneTry).describe("The tries of all webhooks of the task, oldest first."),
  }) satisfies z.ZodType<WebhookTries>,
);

export const failedDeliveryList = withName(
  "FailedDeliveryList",
  z.object({
    deliveries: z
      .array(
        withName(
          "FailedDelivery",
          z.object({
            tenant_id: z.string().optional().describe("Tenant of the task. Only in a list of all tenants."),
            task_id: taskId,
            webhook_id: webhookId,
            type: z.string().describe("Type of the task."),
            url: z.string().describe("URL of the receiver."),
            status: z.literal("failed").describe("Always `failed`."),
            tries: z.int().min(0).describe("Number of tries."),
            last_try_at: time.nullable().describe("Time of the last try."),
            last_status: z.int().min(0).nullable().describe("HTTP status of the last answer."),
            last_error: z.string().nullable().describe("Why the last try had no answer."),
          }) satisfies z.ZodType<FailedWebhook>,
        ),
      )
      .describe("The webhooks that were given up."),
    next_cursor: z.string().nullable().describe("`cursor` of the next page. Null: this is the last one."),
  }),
);

export const redelivery = withName("Redelivery", z.object({ task_id: taskId, webhook_id: webhookId }));

export const webhookSecret = withName(
  "WebhookSecret",
  z.object({
    tenant_id: z.string().describe("The tenant."),
    secret: z.string().describe("The newest secret: `whsec_` and base64."),
    also_signing: z.int().min(0).describe("Number of earlier secrets that sign, too, for 24 hours after a rotation."),
  }) satisfies z.ZodType<WebhookSecret>,
);
