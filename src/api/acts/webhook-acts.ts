import { Problem } from "../../core/model/problem.ts";
import {
  changeReceiver,
  createReceiver,
  deleteReceiver,
  type LogPorts,
  newReceiverSchema,
  type ReceiverPorts,
  receiverChangeSchema,
  rotateReceiverSecret,
  type TestPorts,
  testReceiver,
} from "../../core/notify/manage-receivers.ts";
import {
  receiverSecrets,
  rotateSecret,
  type SecretPorts,
  TooManyRotations,
  webhookSecrets,
} from "../../core/notify/secret.ts";
import type { ReceiverKey } from "../../core/ports/webhooks.ts";
import { on, type TextsOf } from "./act.ts";
import { receiverIn, receiverView } from "./receiver.ts";
import type { ReceiverSecret, WebhookSecret } from "./views.ts";

type Ports = ReceiverPorts & TestPorts & LogPorts & SecretPorts;

export const acts = () => {
  const onTenant = on<Ports, string>({ role: "operator", find: (_, { by }) => by.tenantId });
  const onReceiver = on<Ports, ReceiverKey>({ role: "operator", find: receiverIn });
  return {
    readWebhookSecret: onTenant({ run: async (ports, tenantId) => ({ json: await secretOf(ports, tenantId) }) }),
    rotateWebhookSecret: onTenant({
      run: async (ports, tenantId) => {
        await rotateSecret(ports, tenantId).catch((error: unknown) => {
          throw error instanceof TooManyRotations ? new Problem("conflict", error.message) : error;
        });
        return { json: await secretOf(ports, tenantId) };
      },
    }),
    createReceiver: onTenant({
      body: newReceiverSchema,
      isCheckedByRun: true,
      run: async (ports, _, body, { by }) => {
        const receiver = await createReceiver(ports, by, body);
        const [secret = ""] = await receiverSecrets(ports, receiver);
        const headers = { location: `/webhooks/${receiver.webhook_id}`, "cache-control": "no-store" };
        return { status: 201, headers, json: { ...receiverView(receiver), secret } };
      },
    }),
    changeReceiver: onReceiver({
      body: receiverChangeSchema,
      isCheckedByRun: true,
      run: async (ports, key, body) => ({ json: receiverView(await changeReceiver(ports, key, body)) }),
    }),
    deleteReceiver: onReceiver({
      run: async (ports, key) => {
        await deleteReceiver(ports, key);
        return {};
      },
    }),
    testReceiver: onReceiver({
      run: async (ports, key) => {
        const { webhook_id } = key;
        return { status: 202, headers: {}, json: { webhook_id, delivery_id: await testReceiver(ports, key) } };
      },
    }),
    rotateReceiverSecret: onReceiver({
      run: async (ports, key) => {
        const [secret = "", ...earlier] = await receiverSecrets(ports, await rotateReceiverSecret(ports, key));
        const { webhook_id } = key;
        return { json: { webhook_id, secret, also_signing: earlier.length } satisfies ReceiverSecret };
      },
    }),
  };
};

async function secretOf(ports: Ports, tenant_id: string): Promise<WebhookSecret> {
  const [secret = "", ...earlier] = await webhookSecrets(ports).of(tenant_id);
  return { tenant_id, secret, also_signing: earlier.length };
}

export const texts: TextsOf<ReturnType<typeof acts>> = {
  readWebhookSecret: {
    route: "GET /webhooks/secret",
    notes: ["read"],
    summary: "Show the secret that signs the tenant's webhooks",
    answers: { 200: ["WebhookSecret", "The secret."] },
  },
  rotateWebhookSecret: {
    route: "POST /webhooks/secret/rotate",
    summary: "Make a new secret for the tenant's webhooks",
    description: "For 24 hours the earlier secret signs as well. `conflict`: four rotations within 24 hours.",
    answers: { 200: ["WebhookSecret", "The new secret."] },
    problems: ["conflict"],
  },
  createReceiver: {
    route: "POST /webhooks",
    notes: ["body"],
    summary: "Create a receiver of webhooks",
    description:
      "The receiver gets a webhook for each end of a task that its filter matches, in addition to a task's own `callback`. The request for a tenant's first receiver takes 2.5 s, until " +
      "each process knows of it. `quota_exceeded`: the tenant has 20 receivers.",
    body: "NewReceiver",
    example: { url: "https://shop.example.com/hooks/offload", events: ["task.failed"] },
    answers: { 201: ["CreatedReceiver", "The receiver, with its secret.", ["Location", "Cache-Control"]] },
    problems: ["quota_exceeded"],
  },
  changeReceiver: {
    route: "PATCH /webhooks/{webhook_id}",
    notes: ["body"],
    summary: "Change a receiver of webhooks",
    description:
      "Replaces each given field. `enabled: true` enables a receiver that was disabled, and resets its count of failures.",
    body: "ReceiverChange",
    example: { enabled: true },
    answers: { 200: ["Receiver", "The receiver after the change."] },
    problems: ["conflict"],
  },
  deleteReceiver: {
    route: "DELETE /webhooks/{webhook_id}",
    summary: "Delete a receiver of webhooks",
    description: "Its webhooks have no further tries.",
    answers: { 204: "The receiver is deleted." },
  },
  testReceiver: {
    route: "POST /webhooks/{webhook_id}/test",
    summary: "Send a webhook that tests a receiver",
    description:
      "Its `type` is `webhook.test`. `conflict`: the receiver is disabled. Tests count toward the tenant's `submits_per_second`.",
    answers: { 202: ["ReceiverTest", "The webhook is sent.", []] },
    problems: ["conflict", "rate_limited"],
  },
  rotateReceiverSecret: {
    route: "POST /webhooks/{webhook_id}/secret/rotate",
    summary: "Make a new secret for a receiver",
    description: "For 24 hours the earlier secret signs as well. `conflict`: four rotations within 24 hours.",
    answers: { 200: ["ReceiverSecret", "The new secret."] },
    problems: ["conflict"],
  },
};
