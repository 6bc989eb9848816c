import { PortUnavailable } from "../core/model/errors.ts";
import { fixedWebhookKey, parseWebhookKey, type WebhookKey } from "../core/notify/secret.ts";
import type { Clock } from "../core/ports/tasks.ts";
import type { Config } from "../settings/config.ts";
import { randomBytes } from "../util/node-crypto.ts";
import { boundedCalls } from "./call-times.ts";
import { isNamed, viaPort } from "./errors.ts";
import { boundedTries } from "./http-handler.ts";
import { GetParameterCommand, PutParameterCommand, SSMClient } from "./lean/client-ssm.ts";

const port = "Parameter Store";

/** Time in milliseconds for which a process uses the key that it has read. */
const freshMs = 60_000;

/**
 * The settings that `webhookKeyOf` reads: a deployment has the name of a parameter, the local server has the key
 * itself.
 */
export const webhookKeySettings = ["webhookKey", "webhookKeyName"] as const;

/** @throws Error when neither setting is set, or the key is not 32 bytes as base64 */
export function webhookKeyOf(
  config: Config<(typeof webhookKeySettings)[number]>,
  clock: Pick<Clock, "now">,
): WebhookKey {
  if (config.webhookKey !== undefined) return settingKey(config.webhookKey);
  if (config.webhookKeyName !== undefined) return parameterKey(config.webhookKeyName, clock);
  throw new Error("webhooks have no key: set OFFLOAD_WEBHOOK_KEY_NAME to the name of an SSM parameter");
}

function settingKey(text: string): WebhookKey {
  try {
    return fixedWebhookKey(text);
  } catch (error) {
    throw new Error(`OFFLOAD_WEBHOOK_KEY: ${(error as Error).message}`, { cause: error });
  }
}

/**
 * The master key in a SecureString of SSM Parameter Store, which KMS encrypts. The first read creates it. Of several
 * processes that create it at the same time, one succeeds, and all use its key.
 */
export function parameterKey(name: string, clock: Pick<Clock, "now">): WebhookKey {
  const client = boundedCalls(new SSMClient(boundedTries()));
  let current: { key: Promise<Uint8Array>; readAt: number } | undefined;
  return {
    read() {
      if (current !== undefined && clock.now() - current.readAt < freshMs) return current.key;
      const started = { key: readOrCreate(client, name), readAt: clock.now() };
      current = started;
      // The next caller tries again. This caller gets the error from the same promise.
      started.key.catch(() => {
        if (current === started) current = undefined;
      });
      return started.key;
    },
  };
}

async function readOrCreate(client: SSMClient, name: string): Promise<Uint8Array> {
  const found = (await readParameter(client, name)) ?? (await createParameter(client, name));
  try {
    return parseWebhookKey(found);
  } catch (error) {
    throw new Error(`the parameter ${name} is not a key for webhooks: ${(error as Error).message}`, { cause: error });
  }
}

/** Returns undefined when the parameter does not exist. */
async function readParameter(client: SSMClient, name: string): Promise<string | undefined> {
  const command = new GetParameterCommand({ Name: name, WithDecryption: true });
  const answer = await viaPort(port, client.send(command)).catch((error: unknown) => {
    if (isNamed(error, "ParameterNotFound")) return {};
    throw error;
  });
  const { Parameter } = answer as { Parameter?: { Value?: string } };
  return Parameter?.Value;
}

/** Creates the parameter unless another process has, and reads it again. */
async function createParameter(client: SSMClient, name: string): Promise<string> {
  const command = new PutParameterCommand({
    Name: name,
    Value: randomBytes(32).toString("base64"),
    Type: "SecureString",
    Overwrite: false,
    Description: "Master key of the secrets that sign webhooks. A new value changes the secrets of all tenants.",
  });
  await viaPort(port, client.send(command)).catch((error: unknown) => {
    if (!isNamed(error, "ParameterAlreadyExists")) throw error;
  });
  const created = await readParameter(client, name);
  // Parameter Store may need a moment to show a new parameter.
  if (created === undefined) throw new PortUnavailable(port);
  return created;
}
