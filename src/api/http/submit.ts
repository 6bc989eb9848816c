import { expecting } from "../../core/model/expected.ts";
import { acceptedView, submit } from "../../core/pipeline/submit/submit.ts";
import type { Accepted } from "../../core/pipeline/submit/submit-ports.ts";
import { loadSubmitSchema } from "../../core/pipeline/submit/usual-submit.ts";
import type { Clock } from "../../core/ports/tasks.ts";
import { apiOf, identify } from "./api.ts";
import { jsonBody, mediaTypeOf } from "./body.ts";
import type { ApiResponse, Call } from "./call.ts";
import type { Router } from "./router.ts";
import { idempotencyKeyOf, type SubmitApiPorts } from "./submit-ports.ts";

/** Creates the app of the function submit. The code of batches, uploads and forms loads with the first of them. */
export const submitApi = (ports: SubmitApiPorts): Router =>
  apiOf("submit", ports, {
    submitTask: (call: Call) => submitAnswer(ports, call),
    submitBatch: async (call: Call) => (await import("./submit-batch.ts")).batchAnswer(ports, call),
    createUpload: async (call: Call) => (await import("./uploads.ts")).uploadAnswer(ports, call),
  });

async function submitAnswer(ports: SubmitApiPorts, call: Call): Promise<ApiResponse> {
  const identity = identify(call);
  const idempotencyKey = idempotencyKeyOf(call);
  const bodyOf =
    mediaTypeOf(call) === "multipart/form-data"
      ? async () => (await import("./submit-form.ts")).formBody(ports, call, { identity, idempotencyKey })
      : async () => ({ body: await jsonBody(call) });
  const accepted = await expecting(loadSubmitSchema, async () =>
    submit(ports, {
      identity,
      ...(await bodyOf()),
      bytes: call.req.bytes().byteLength,
      idempotencyKey,
      correlationId: call.get("correlationId"),
      correlationGiven: call.get("correlationGiven"),
      traceparent: call.get("traceparent"),
    }),
  );
  return acceptedAnswer(ports, call, accepted);
}

/** Returns the 202 response for an accepted task. */
export function acceptedAnswer(ports: { clock: Clock }, call: Call, accepted: Accepted): ApiResponse {
  const view = acceptedView(accepted, ports.clock);
  call.header("content-location", view.poll_url);
  call.header("retry-after", "1");
  if (accepted.replayed) call.header("idempotent-replayed", "true");
  return call.unstored(view, 202);
}
