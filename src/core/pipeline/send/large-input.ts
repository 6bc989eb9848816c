import { createHash } from "../../../util/node-crypto.ts";
import { type Envelope, largestEnvelopeBytes, messageText, schemaVersion } from "../../model/envelope.ts";
import { PermanentError } from "../../model/errors.ts";
import { Problem } from "../../model/problem.ts";
import { iso, type TaskKey, type TaskRecord } from "../../model/record.ts";
import {
  type BlobList,
  type Blobs,
  type Bytes,
  dayMs,
  dayOf,
  inputKey,
  type PutOptions,
  type PutResult,
} from "../../ports/blob.ts";
import type { Clock, NewId } from "../../ports/tasks.ts";
import { textOf } from "./read-whole.ts";

/** Builds the message of a task, of any size. */
export function newEnvelope(ports: { clock: Clock; newId: NewId }, record: TaskRecord, input: unknown): Envelope {
  return {
    schema_version: schemaVersion,
    message_id: ports.newId(),
    task_id: record.task_id,
    type: record.type,
    tenant_id: record.tenant_id,
    requested_by: record.requested_by,
    correlation_id: record.correlation_id,
    ...(record.traceparent === undefined ? {} : { traceparent: record.traceparent }),
    enqueued_at: iso(ports.clock.now()),
    max_attempts: record.max_attempts,
    ...(record.input_version === undefined ? {} : { input_version: record.input_version }),
    // An input that was left out is no null: its type may have a default.
    ...(input === undefined ? {} : { input }),
  };
}

/** The largest input, in bytes of its JSON: that of a request. */
export const largestInputBytes = 1024 * 1024;

/**
 * Builds the message of a task. An input that does not fit into a message goes to the bucket, and the message has its
 * key.
 * @throws Problem `too_large`; PortUnavailable
 */
export async function storedEnvelope(
  ports: BlobPorts & { newId: NewId },
  record: TaskRecord,
  input: unknown,
): Promise<Envelope> {
  const envelope = newEnvelope(ports, record, input);
  if (Buffer.byteLength(messageText(envelope)) <= largestEnvelopeBytes) return envelope;
  const { input: _, ...frame } = envelope;
  const body = Buffer.from(JSON.stringify(input));
  if (body.byteLength > largestInputBytes) {
    throw new Problem(
      "too_large",
      `The input has ${body.byteLength} bytes; the limit is ${largestInputBytes} (1 MiB).`,
    );
  }
  const sha256 = createHash("sha256").update(body).digest("hex");
  const key = inputKey(record, sha256);
  await putListed(ports, record, key, body, { contentType: "application/json", onlyIfAbsent: true });
  return { ...frame, input_ref: { key, bytes: body.byteLength, sha256 } };
}

/**
 * Returns the input that a message has a reference to.
 * @throws PermanentError when it is no longer stored; PortUnavailable
 */
export async function storedInput(
  { blobs }: { blobs: Blobs },
  { input_ref }: Pick<Envelope, "input_ref">,
): Promise<unknown> {
  const content = input_ref && (await blobs.read(input_ref.key));
  if (content === undefined) throw new PermanentError("the input is no longer stored: its retention has ended");
  return JSON.parse(await textOf(content.bytes));
}

export interface BlobPorts {
  clock: Clock;
  blobs: Blobs;
  blobList: BlobList;
}

/** Stores an object of a task. It is listed first, so that it is deleted also when the task never names it. */
export async function putListed(
  { clock, blobs, blobList }: BlobPorts,
  { tenant_id, task_id }: TaskKey,
  key: string,
  body: Uint8Array | Bytes,
  options: PutOptions,
): Promise<PutResult> {
  await blobList.add(dayOf(clock.now() + dayMs), { key, tenant_id, task_id });
  return blobs.put(key, body, options);
}
