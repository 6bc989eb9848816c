import { createHash } from "node:crypto";
import { inputKey } from "../model/blob-keys.ts";
import { type Envelope, largestEnvelopeBytes, messageText } from "../model/envelope.ts";
import { PermanentError } from "../model/errors.ts";
import { Problem } from "../model/problem.ts";
import type { TaskRecord } from "../model/record.ts";
import type { Blobs } from "../ports/blob.ts";
import type { NewId } from "../ports/tasks.ts";
import { newEnvelope } from "./new-envelope.ts";
import { type BlobPorts, putListed } from "./put-listed.ts";
import { textOf } from "./read-whole.ts";

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
