import { Webhook } from "standardwebhooks";

/** Headers of a signed webhook, as Standard Webhooks describes them. */
export interface SignedHeaders extends Record<string, string> {
  "webhook-id": string;
  /** Epoch seconds. */
  "webhook-timestamp": string;
  /** One `v1,<base64>` for each secret, with spaces between them. */
  "webhook-signature": string;
}

/**
 * Signs a webhook with each of the secrets. A receiver accepts it when one signature is of its own secret.
 * @param secrets `whsec_` texts, newest first.
 * @param timestampMs Time of this try in epoch milliseconds. Receivers refuse a try that is more than five minutes old.
 */
export function signedHeaders(
  secrets: readonly string[],
  id: string,
  timestampMs: number,
  body: string,
): SignedHeaders {
  const timestamp = new Date(timestampMs);
  const signatures = secrets.map((secret) => new Webhook(secret).sign(id, timestamp, body));
  return {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(timestampMs / 1000)),
    "webhook-signature": signatures.join(" "),
  };
}
