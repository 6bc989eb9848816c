import { expecting } from "../core/expected.ts";
import type { Clock } from "../core/ports.ts";
import { type Accepted, acceptedView, type SubmitPorts, submit } from "../core/submit.ts";
import { submitSchema } from "../core/submit-body.ts";
import { checkIdempotencyKey } from "../core/submit-call.ts";
import { type Api, type ApiPorts, apiOf, type Call, identify } from "./api.ts";
import { jsonBody } from "./body.ts";

export interface SubmitApiPorts extends SubmitPorts, ApiPorts {}

/** Creates the app of the function submit. */
export const submitApi = (ports: SubmitApiPorts): Api =>
  apiOf("submit", ports, { submitTask: (call: Call) => submitAnswer(ports, call) });

async function submitAnswer(ports: SubmitApiPorts, call: Call): Promise<Response> {
  const identity = identify(call);
  const idempotencyKey = idempotencyKeyOf(call);
  const accepted = await expecting(submitSchema, async () =>
    submit(ports, {
      identity,
      body: await jsonBody(call),
      bytes: (await call.req.arrayBuffer()).byteLength,
      idempotencyKey,
      correlationId: call.get("correlationId"),
      traceparent: call.get("traceparent"),
    }),
  );
  return acceptedAnswer(ports, call, accepted);
}

/** Returns the 202 response for an accepted task. */
export function acceptedAnswer(ports: { clock: Clock }, call: Call, { record, replayed }: Accepted): Response {
  const view = acceptedView(record, ports.clock);
  call.header("content-location", view.poll_url);
  call.header("retry-after", "1");
  call.header("cache-control", "no-store");
  if (replayed) call.header("idempotent-replayed", "true");
  return call.json(view, 202);
}

/** @throws Problem `malformed_request` */
export function idempotencyKeyOf(call: Call): string | undefined {
  // Read from the event itself: the adapter would percent-encode other characters than ASCII, and they would be accepted.
  const given = call.env?.event?.headers?.["idempotency-key"];
  const key = typeof given === "string" ? given : call.req.header("idempotency-key");
  if (key !== undefined) checkIdempotencyKey(key);
  return key;
}
