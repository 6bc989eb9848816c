import {
  getMultipartBoundary,
  MaxPartsExceededError,
  type MultipartPart,
  parseMultipart,
} from "@remix-run/multipart-parser";
import { nameFiles, type SentFile, type SentUploads } from "../core/files/store-files.ts";
import { sentFacts } from "../core/files/upload-body.ts";
import type { Identity } from "../core/model/identity.ts";
import { pointer } from "../core/model/invalid.ts";
import { Problem } from "../core/model/problem.ts";
import { mostFiles, namePattern } from "../core/task/file-options.ts";
import type { Call } from "./api.ts";
import { bodyBytes, parseBody, textOf } from "./body.ts";
import { type SubmitApiPorts, withFiles } from "./submit-ports.ts";

/** Maximum size of a submit with files. Lambda takes 6 MB, and gets the body in Base64. */
export const largestFormBytes = 4 * 1024 ** 2;

/** Name of the part that has the submit as JSON. */
const taskPart = "task";

/** Most parts that are read: the task, a type's files, and one part too many. */
const mostParts = mostFiles + 2;

/** A part of a form, with its content as bytes. */
interface Part {
  name: string;
  bytes: Uint8Array;
  /** The media type with its parameters. Empty: the part names none. */
  contentType: string;
  /** Undefined: the part is no file. Empty: it is a file without a name. */
  fileName: string | undefined;
}

/**
 * Reads a submit of `multipart/form-data` (RFC 7578): the JSON of its part `task`, with the other parts as uploads
 * under `files`. Stores nothing.
 * @throws Problem `malformed_request`, `too_large`, `invalid_input`, `unavailable`
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

/** @throws Problem `malformed_request`, also for headers of a part that are not UTF-8 */
function partsOf(contentType: string, body: ArrayBuffer): Part[] {
  const boundary = getMultipartBoundary(contentType);
  if (boundary === null) throw new Problem("malformed_request", "The Content-Type names no boundary.");
  const limits = { maxFileSize: largestFormBytes, maxTotalSize: largestFormBytes, maxParts: mostParts };
  try {
    return [...parseMultipart(new Uint8Array(body), { boundary, ...limits })].map(partOf);
  } catch (error) {
    if (error instanceof MaxPartsExceededError) throw fileProblem([], `expected at most ${mostFiles} files`);
    throw new Problem("malformed_request", notAForm, { cause: error });
  }
}

const notAForm = "The body is not valid multipart/form-data, whose names are UTF-8.";

function partOf({ headers, bytes }: MultipartPart): Part {
  const disposition = headers["content-disposition"] ?? "";
  const contentType = headers["content-type"]?.trim() ?? "";
  return {
    name: parameterOf(disposition, "name") ?? "",
    bytes,
    contentType,
    fileName: parameterOf(disposition, "filename"),
  };
}

/**
 * Reads a quoted parameter as the programs write it that send forms: some put a backslash before a quote and a
 * backslash, others write a quote and line breaks in percent (WHATWG), and leave a backslash as it is.
 */
function parameterOf(disposition: string, name: string): string | undefined {
  const pattern = new RegExp(
    `;\\s*${name}\\s*=\\s*(?:"((?:[^"\\\\]|\\\\["\\\\]|\\\\(?!["\\\\]))*)"|([^\\s";]+))`,
    "is",
  );
  const [, quoted, token] = pattern.exec(disposition) ?? [];
  if (quoted === undefined) return token;
  return quoted.replaceAll(/\\(["\\])/g, "$1").replaceAll(/%(0A|0D|22)/gi, (code) => decodeURIComponent(code));
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
  if (files.size > mostFiles) throw fileProblem([], `expected at most ${mostFiles} files`);
  return files;
}

/** A browser's form sends an empty part for a file that nobody chose. */
const isNotSent = ({ fileName, bytes }: Part): boolean => fileName === "" && bytes.byteLength === 0;

function fileProblem(path: readonly string[], message: string): Problem {
  const errors = [{ path: pointer(["files", ...path]), message }];
  return new Problem("invalid_input", `${["files", ...path].join(".")}: ${message}`.slice(0, 500), { errors });
}
