import { acceptedView } from "../../core/pipeline/submit/submit.ts";
import { submitBatch } from "../../core/pipeline/submit/submit-batch.ts";
import type { BatchEntry } from "../../core/pipeline/submit/submit-ports.ts";
import { identify, problemOf } from "./api.ts";
import { batchBody } from "./body.ts";
import type { ApiResponse, Call } from "./call.ts";
import { problemBody } from "./problem.ts";
import { idempotencyKeyOf, type SubmitApiPorts } from "./submit-ports.ts";

/** Answers `POST /tasks/batch`. */
export async function batchAnswer(ports: SubmitApiPorts, call: Call): Promise<ApiResponse> {
  const identity = identify(call);
  const idempotencyKey = idempotencyKeyOf(call);
  const body = await batchBody(call);
  const correlationId = call.get("correlationId");
  const submitCall = {
    identity,
    body,
    idempotencyKey,
    correlationId,
    correlationGiven: call.get("correlationGiven"),
    traceparent: call.get("traceparent"),
  };
  const { queues, longer } = ports.batch ?? { queues: ports.queues, longer: (work) => work() };
  const entries = await longer(() =>
    submitBatch({ ...ports, queues }, submitCall, (error) => problemOf(ports, call, error)),
  );
  const tasks = entries.map((entry) => entryView(ports, entry, correlationId));
  const accepted = entries.filter((entry) => "accepted" in entry).length;
  return call.unstored({ accepted, refused: entries.length - accepted, tasks }, 202);
}

function entryView(ports: SubmitApiPorts, entry: BatchEntry, correlationId: string) {
  if ("refused" in entry) {
    const { retryAfterSeconds } = entry.refused.options;
    const wait = retryAfterSeconds === undefined ? {} : { retry_after_seconds: retryAfterSeconds };
    return { problem: { ...problemBody(entry.refused, correlationId), ...wait } };
  }
  return { ...acceptedView(entry.accepted, ports.clock), replayed: entry.accepted.replayed };
}
