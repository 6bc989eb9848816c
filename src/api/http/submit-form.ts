import { nameFiles, type SentFile, type SentUploads, sentFacts } from "../../core/extras/files/uploads.ts";
import { Problem } from "../../core/model/problem.ts";
import type { Identity } from "../../core/model/words.ts";
import { maxFiles, namePattern } from "../../core/task/file-options.ts";
import { bodyBytes, parseBody, textOf } from "./body.ts";
import type { Call } from "./call.ts";
import { fileProblem, largestFormBytes, type Part, partsOf } from "./form-parts.ts";
import { type SubmitApiPorts, withFiles } from "./submit-ports.ts";

/** Name of the part that has the submit as JSON. */
const taskPart = "task";

/**
 * Reads a submit of `multipart/form-data` (RFC 7578): the JSON of its part `task`, with the other parts as uploads
 * under `files`. Stores nothing.
 * @throws Problem `malformed_request`, `too_large`, `unsupported_media_type`, `invalid_input`, `unavailable`
 */
export async function formBody(
  ports: SubmitApiPorts,
  call: Call,
  by: { identity: Identity; idempotencyKey: string | undefined },
): Promise<{ body: Record<string, unknown>; sent: SentUploads }> {
  withFiles(ports);
  const parts = partsOf(call.req.header("content-type") ?? "", await bodyBytes(call, largestFormBytes));
  const body = taskOf(parts);
  const files = filesOf(parts, body.files);
  const { ids, sent } = nameFiles(ports.newId, by, files);
  return { body: { ...body, files: { ...(body.files as object), ...ids } }, sent };
}

/** Reads the part `task`, which clients send as text or as a file of JSON. */
function taskOf(parts: readonly Part[]): Record<string, unknown> {
  const [part, ...more] = parts.filter(({ name }) => name === taskPart);
  if (part === undefined || more.length > 0) {
    throw new Problem("malformed_request", "The form must have exactly one part named task, with the submit as JSON.");
  }
  const { body } = parseBody(textOf(part.bytes, "The part task"));
  const { files } = body;
  if (files !== undefined && (typeof files !== "object" || files === null || Array.isArray(files))) {
    throw fileProblem([], "expected an object of upload ids by name");
  }
  return body;
}

function filesOf(parts: readonly Part[], given: unknown): Map<string, SentFile> {
  const files = new Map<string, SentFile>();
  for (const part of parts) {
    const { name, bytes, fileName } = part;
    if (name === taskPart || isNotSent(part)) continue;
    const isGiven = files.has(name) || Object.hasOwn(given ?? {}, name);
    if (isGiven) throw fileProblem([name], "this file is given twice");
    if (!namePattern.test(name)) throw fileProblem([name], "no type has a file of this name");
    if (fileName === undefined) throw fileProblem([name], "expected a file: the part has no file name");
    files.set(name, { facts: sentFacts(name, { contentType: part.contentType, fileName }), bytes });
  }
  if (files.size > maxFiles) throw fileProblem([], `expected at most ${maxFiles} files`);
  return files;
}

/** A browser's form sends an empty part for a file that nobody chose. */
const isNotSent = ({ fileName, bytes }: Part): boolean => fileName === "" && bytes.byteLength === 0;
