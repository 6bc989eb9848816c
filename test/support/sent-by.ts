import * as client from "../../src/client/index.ts";

/** A request that a call of the client sends. */
export interface Sent {
  method: string;
  path: string;
  body: unknown;
}

/** Runs a call of the client, as the pages of the HTTP API show it, and returns its requests. Each is answered with one empty page. */
export async function sentBy(call: string): Promise<Sent[]> {
  const sent: Sent[] = [];
  const options: client.ClientOptions = {
    ...{ url: "https://tasks.example.com", key: "key", maxTries: 1 },
    fetch: async (url, { method = "GET", body }) => {
      sent.push({ method, path: new URL(url).pathname, body: body == null ? undefined : JSON.parse(String(body)) });
      return Response.json({ next_cursor: null });
    },
  };
  const { Admin, Audit, createClient, Flow, Operations, Receivers, Webhooks } = client;
  const names = {
    client: createClient(options),
    ...{ admin: new Admin(options), audit: new Audit(options), flow: new Flow(options) },
    ...{ operations: new Operations(options), receivers: new Receivers(options), webhooks: new Webhooks(options) },
    ...{ task: "task", scheduleId: "schedule", webhookId: "webhook", operationId: "operation", keyId: "key" },
  };
  // biome-ignore lint/complexity/useArrowFunction: an async arrow function has no constructor of its own
  const AsyncFunction = async function () {}.constructor as new (
    ...texts: string[]
  ) => (...values: unknown[]) => Promise<void>;
  // Answers without the fields that the example prints end it, after its requests.
  await new AsyncFunction(...Object.keys(names), call)(...Object.values(names)).catch(() => undefined);
  return sent;
}
