import { PermanentError } from "../../model/errors.ts";
import type { ResultReference, TaskRecord } from "../../model/record.ts";
import { largestFileBytes } from "../../model/stored-file.ts";
import { type Bytes, type Disk, resultKey } from "../../ports/blob.ts";
import type { Log, Records } from "../../ports/tasks.ts";
import { jsonText } from "../../task/json-value.ts";
import { parseBy } from "../../task/parsed-input.ts";
import {
  bytesOf,
  FileResult,
  headerFault,
  largestResultBytes,
  OutcomeResult,
  recordResultBytes,
} from "../../task/result.ts";
import type { TaskType } from "../../task/task.ts";
import { type BlobPorts, putListed } from "../send/large-input.ts";
import { atMost, readUpTo } from "../send/read-whole.ts";

/** A result that is ready for its record. */
export interface Packed {
  outcome?: string | undefined;
  location?: string | undefined;
  /** A JSON result for the record itself. */
  inline?: unknown;
  /** A result for a part beside the record. */
  part?: unknown;
  reference?: ResultReference;
}

export interface PackPorts extends BlobPorts {
  disk: Disk;
  log: Log;
}

/** Stores a result beside the record. */
export async function saveResult(
  { records }: { records: Records },
  record: TaskRecord,
  { part, reference }: Packed,
  purgeAt: number,
): Promise<void> {
  if (part === undefined || reference === undefined) return;
  await records.savePart(record, `result#${reference.part}`, part, purgeAt);
}

/** The fields of a record that has a result. */
export const resultFields = ({ outcome, location, inline, reference }: Packed) => ({
  outcome,
  location,
  result: inline,
  result_ref: reference,
});

/** A result as bytes, or as the text of its JSON. */
interface Content {
  body: string | Uint8Array | Bytes;
  contentType: string;
  fileName?: string | undefined;
}

/**
 * Decides where a result is stored, and stores it in the bucket if it is large. A result of a task with a `result_key`
 * is encrypted first.
 * @param signal Ends the upload.
 * @throws PermanentError for a result that cannot be stored; PortUnavailable; an error of the result's own stream
 */
export async function packResult(
  ports: PackPorts,
  record: TaskRecord,
  type: TaskType | undefined,
  value: unknown,
  signal?: AbortSignal,
): Promise<Packed> {
  const { outcome, location, result } =
    value instanceof OutcomeResult ? value : { outcome: undefined, location: undefined, result: value };
  const named = { outcome, location };
  const content = await contentOf(ports, type, result);
  const { result_key: key } = record;
  if (key !== undefined) {
    const encrypted = await (await import("../send/encrypt-result.ts")).encrypted(
      key,
      content.body,
      content.contentType,
    );
    return { ...named, ...(await stored(ports, record, { body: encrypted, contentType: "application/jose" }, signal)) };
  }
  const { body, fileName } = content;
  const isSmallJson =
    fileName === undefined && typeof body === "string" && Buffer.byteLength(body) <= recordResultBytes;
  if (isSmallJson) return { ...named, inline: JSON.parse(body) };
  return { ...named, ...(await stored(ports, record, content, signal)) };
}

/** @throws PermanentError for a result that does not fit its type's schema, or that JSON cannot express */
async function contentOf(ports: PackPorts, type: TaskType | undefined, result: unknown): Promise<Content> {
  if (result instanceof FileResult) {
    const { source, contentType, fileName } = result;
    const fault = headerFault(contentType, fileName);
    if (fault !== undefined) throw new PermanentError(`the file cannot be served: ${fault}`);
    return { body: bytesOf(source, ports.disk), contentType, fileName };
  }
  const { text = "null", lost } = jsonText(result ?? null, "the result", "result");
  await checkFit(type, result);
  if (lost !== undefined) ports.log.warn("a part of a result is lost", { part: lost });
  return { body: text, contentType: "application/json" };
}

/** Puts a result into a part, or into the bucket when it is larger than a part. */
async function stored(
  ports: PackPorts,
  record: TaskRecord,
  { body, contentType, fileName }: Content,
  signal: AbortSignal | undefined,
): Promise<Pick<Packed, "part" | "reference">> {
  const part = record.attempts_total;
  const common = { part, content_type: contentType, ...(fileName === undefined ? {} : { file_name: fileName }) };
  const read = await inMemory(body);
  if ("whole" in read && byteLength(read.whole) <= largestResultBytes) {
    return { part: read.whole, reference: { ...common, bytes: byteLength(read.whole) } };
  }
  const whole = "rest" in read ? atMost(read.rest, largestFileBytes) : bytesFrom(read.whole);
  const blob = resultKey(record);
  const put = await putListed(ports, record, blob, whole, { contentType, ...(signal && { signal }) });
  if (put.state === "exists") throw new PermanentError("the result's place in the bucket was taken");
  return { reference: { ...common, bytes: put.sizeBytes, blob } };
}

const inMemory = async (body: Content["body"]) =>
  typeof body === "string" || body instanceof Uint8Array ? { whole: body } : readUpTo(body, largestResultBytes);

const byteLength = (whole: string | Uint8Array): number =>
  typeof whole === "string" ? Buffer.byteLength(whole) : whole.byteLength;

const bytesFrom = (whole: string | Uint8Array): Uint8Array =>
  typeof whole === "string" ? Buffer.from(whole, "utf8") : whole;

/** @throws PermanentError for a result that does not fit its type's schema, or whose schema throws */
async function checkFit(type: TaskType | undefined, result: unknown): Promise<void> {
  if (type?.output === undefined) return;
  const parsed = await parseBy(type.output, result, "result");
  if ("fault" in parsed) throw new PermanentError(parsed.fault.message, { cause: parsed.fault.cause });
}
