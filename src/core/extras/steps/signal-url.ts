import type * as z from "zod";
import { inShort } from "../../../util/foreign-value.ts";
import { PermanentError } from "../../model/errors.ts";
import { hashSecret, linkPrefix } from "../../model/keys.ts";
import type { TaskRecord } from "../../model/record.ts";
import type { SignalLinks } from "../../ports/steps.ts";
import type { Clock } from "../../ports/tasks.ts";
import type { SignalUrlOptions } from "../../task/context.ts";
import { checkedSignalName, longestWaitSeconds } from "../../task/step-calls.ts";

/** The ports of `task.signalUrl`. */
export interface SignalUrlPorts {
  links: SignalLinks;
  /** Returns that many bytes from a cryptographic source. */
  randomBytes: (count: number) => Uint8Array;
  /** URL of the API. Undefined: this worker does not know it. */
  apiUrl: string | undefined;
}

/** Most characters of a schema, as JSON. */
const longestSchema = 16_384;

/**
 * Makes a link that sends a task one signal. The table has only the hash of the link's secret.
 * @throws PermanentError
 */
export async function signalUrl(
  ports: (SignalUrlPorts & { clock: Clock }) | undefined,
  { tenant_id, task_id, created_at }: TaskRecord,
  name: string,
  options: SignalUrlOptions,
): Promise<string> {
  checkedSignalName(name, "signalUrl");
  const seconds = checkedSeconds(options?.expiresInSeconds);
  const schema = options.schema === undefined ? {} : { schema: schemaText(options.schema) };
  if (ports?.apiUrl === undefined) {
    throw new PermanentError("signalUrl: this worker does not know the API's URL: set OFFLOAD_API_URL for it");
  }
  const secret = linkPrefix + Buffer.from(ports.randomBytes(32)).toString("base64url");
  const link = { tenant_id, task_id, created_at, name, ...schema };
  await ports.links.create(hashSecret(secret), link, ports.clock.now() + seconds * 1000);
  return `${ports.apiUrl.replace(/\/$/, "")}/signals/${secret}`;
}

function checkedSeconds(seconds: unknown): number {
  if (typeof seconds === "number" && seconds >= 1 && seconds <= longestWaitSeconds) return seconds;
  throw new PermanentError(
    `signalUrl: expiresInSeconds must be a number from 1 to ${longestWaitSeconds}, got ${inShort(seconds)}`,
  );
}

/** The API has no code of the app, so JSON Schema has to say all. */
function schemaText(schema: z.ZodType): string {
  let text: string;
  try {
    text = JSON.stringify(schema["~standard"].jsonSchema.input({ target: "draft-2020-12" }));
  } catch (error) {
    const why = String(error).slice(0, 200);
    throw new PermanentError(`signalUrl: schema must be one of Zod that JSON Schema can express: ${why}`);
  }
  if (text.length <= longestSchema) return text;
  throw new PermanentError(`signalUrl: schema has ${text.length} characters as JSON; the most are ${longestSchema}`);
}
