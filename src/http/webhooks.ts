import { Problem } from "../core/model/problem.ts";
import { rotateSecret, type SecretPorts, TooManyRotations, webhookSecrets } from "../core/notify/secret.ts";
import type { WebhookSecrets } from "../core/ports/notify.ts";
import { readNothing } from "./acts.ts";
import { type Call, type HandlersOf, identify } from "./api.ts";
import type { WebhookSecret } from "./views.ts";

/** Handlers for the secrets that sign a tenant's webhooks. */
export const webhookSecretRoutes = (ports: SecretPorts) => {
  const secrets = webhookSecrets(ports);
  return {
    readWebhookSecret: (call) => secretAnswer(secrets, call, identify(call, "operator").tenantId),
    rotateWebhookSecret: async (call) => {
      const { tenantId } = identify(call, "operator");
      await readNothing(call);
      await rotate(ports, tenantId);
      return secretAnswer(secrets, call, tenantId);
    },
  } satisfies Partial<HandlersOf<"control">>;
};

async function secretAnswer(secrets: WebhookSecrets, call: Call, tenantId: string): Promise<Response> {
  const [secret, ...earlier] = await secrets.of(tenantId);
  call.header("cache-control", "no-store");
  return call.json({ tenant_id: tenantId, secret: secret ?? "", also_signing: earlier.length } satisfies WebhookSecret);
}

/** @throws Problem `conflict` after too many rotations */
async function rotate(ports: SecretPorts, tenantId: string): Promise<void> {
  try {
    await rotateSecret(ports, tenantId);
  } catch (error) {
    throw error instanceof TooManyRotations ? new Problem("conflict", error.message) : error;
  }
}
