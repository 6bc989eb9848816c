import { Problem } from "../core/problem.ts";
import { iso, statusAt } from "../core/record.ts";
import { type SubmitPorts, submit } from "../core/submit.ts";
import { type Api, type ApiPorts, type Call, createApi, identify } from "./api.ts";
import { jsonBody } from "./body.ts";

/** `POST /tasks`. */
export function submitApi(ports: SubmitPorts & ApiPorts): Api {
  const api = createApi(ports);
  api.post("/tasks", async (call) => {
    const identity = identify(call);
    const idempotencyKey = idempotencyKeyOf(call);
    const body = await jsonBody(call);
    const { record, replayed } = await submit(ports, {
      identity,
      body,
      idempotencyKey,
      correlationId: call.get("correlationId"),
      traceparent: traceparentOf(call),
    });
    const pollUrl = `/tasks/${record.task_id}`;
    call.header("content-location", pollUrl);
    call.header("retry-after", "1");
    call.header("cache-control", "no-store");
    if (replayed) call.header("idempotent-replayed", "true");
    const status = statusAt(record, iso(ports.clock.now()));
    return call.json({ task_id: record.task_id, status, poll_url: pollUrl, created_at: record.created_at }, 202);
  });
  return api;
}

function idempotencyKeyOf(call: Call): string | undefined {
  // From the event itself: the adapter percent-encodes what is not ASCII, which would then pass.
  const given = call.env?.event?.headers?.["idempotency-key"];
  const key = typeof given === "string" ? given : call.req.header("idempotency-key");
  if (key === undefined) return undefined;
  if (/^[\x20-\x7e]{1,255}$/.test(key)) return key;
  throw new Problem("malformed_request", "Idempotency-Key must be 1 to 255 printable ASCII characters.");
}

/** A trace context that does not parse is left out, as W3C asks: the trace starts anew. */
export function traceparentOf(call: Call): string | undefined {
  const value = call.req.header("traceparent")?.trim();
  const valid =
    value !== undefined && /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/.test(value);
  return valid ? value : undefined;
}
