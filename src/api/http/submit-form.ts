import {
  getMultipartBoundary,
  MaxPartsExceededError,
  type MultipartPart,
  parseMultipart,
} from "@remix-run/multipart-parser";
import { nameFiles, type SentFile, type SentUploads, sentFacts } from "../../core/extras/files/uploads.ts";
import { pointer } from "../../core/model/invalid.ts";
import { Problem } from "../../core/model/problem.ts";
import type { Identity } from "../../core/model/words.ts";
import { maxFiles, namePattern } from "../../core/task/file-options.ts";
import { bodyBytes, parseBody, textOf } from "./body.ts";
import type { Call } from "./call.ts";
import { type SubmitApiPorts, withFiles } from "./submit-ports.ts";

/** Maximum size of a submit with files. Lambda takes 6 MB, and gets the body in Base64. */
const largestFormBytes = 4 * 1024 ** 2;

/** Most parts that are read: the task, a type's files, and one part too many. */
const mostParts = maxFiles + 2;

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
 * Reads the parts of a form.
 * @throws Problem `malformed_request`, also for headers of a part that are not UTF-8; `unsupported_media_type`,
 * `invalid_input`
 */
function partsOf(contentType: string, body: Uint8Array): Part[] {
  const boundary = getMultipartBoundary(contentType);
  if (boundary === null) throw new Problem("malformed_request", "The Content-Type names no boundary.");
  const limits = { maxFileSize: largestFormBytes, maxTotalSize: largestFormBytes, maxParts: mostParts };
  try {
    return [...parseMultipart(withoutPreamble(Buffer.from(body), boundary), { boundary, ...limits })].map(partOf);
  } catch (error) {
    if (error instanceof Problem) throw error;
    if (error instanceof MaxPartsExceededError) throw fileProblem([], `expected at most ${maxFiles} files`);
    throw new Problem("malformed_request", notAForm, { cause: error });
  }
}

const notAForm = "The body is not valid multipart/form-data, whose names are UTF-8.";

/** Cuts what may stand before the first delimiter (RFC 2046, section 5.1.1), which the parser refuses. */
function withoutPreamble(body: Buffer, boundary: string): Uint8Array {
  const delimiter = `--${boundary}`;
  if (body.indexOf(delimiter) === 0) return body;
  const lineEnd = body.indexOf(`\r\n${delimiter}`);
  return lineEnd === -1 ? body : body.subarray(lineEnd + 2);
}

function partOf({ headers, bytes }: MultipartPart): Part {
  const parameters = parametersOf(headers["content-disposition"] ?? "");
  const name = parameters.get("name") ?? "";
  checkEncoding(name, headers["content-transfer-encoding"] ?? "");
  return { name, bytes, contentType: headers["content-type"]?.trim() ?? "", fileName: fileNameOf(name, parameters) };
}

/** Encodings of RFC 2045 that leave the bytes as they are. */
const plainEncodings = ["", "7bit", "8bit", "binary"];

/** RFC 7578 has no encoding for parts: to store the encoded text as the file would be a wrong file without a word. */
function checkEncoding(name: string, encoding: string): void {
  if (plainEncodings.includes(encoding.trim().toLowerCase())) return;
  const fault = `The part ${name} has Content-Transfer-Encoding: ${encoding}`.slice(0, 400);
  throw new Problem("unsupported_media_type", `${fault}. Send its bytes as they are.`);
}

/** A quoted value with escapes, a quoted value as browsers write it, or a value without quotes. */
const parameter = /;\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"(?=\s*(?:;|$))|"([^"]*)"(?=\s*(?:;|$))|([^";]*))/gs;

/**
 * Reads the parameters as the programs write them that send forms: some put a backslash before a quote and a
 * backslash, others write a quote and line breaks in percent (WHATWG), and leave a backslash as it is. A backslash
 * before the last quote can only be of the others.
 */
function parametersOf(disposition: string): Map<string, string> {
  const parameters = new Map<string, string>();
  for (const [, given = "", escaped, raw, token = ""] of disposition.matchAll(parameter)) {
    const quoted = escaped?.replaceAll(/\\(["\\])/g, "$1") ?? raw;
    const value = quoted?.replaceAll(/%(0A|0D|22)/gi, (code) => decodeURIComponent(code)) ?? token.trim();
    const name = given.toLowerCase();
    if (!parameters.has(name)) parameters.set(name, value);
  }
  return parameters;
}

/**
 * Returns the name in `filename*` (RFC 8187), which a program writes that has only ASCII in `filename`, or else that in
 * `filename`.
 * @throws Problem `invalid_input` when there is only a `filename*` that cannot be read
 */
function fileNameOf(part: string, parameters: ReadonlyMap<string, string>): string | undefined {
  const plain = parameters.get("filename");
  const extended = parameters.get("filename*");
  if (extended === undefined) return plain;
  const read = decoded(extended) ?? plain;
  if (read === undefined) throw fileProblem([part], "expected filename* as in RFC 8187: UTF-8''%C3%A4.txt");
  return read;
}

/** Reads an extended value: charset, language and text in percent. Undefined: it is none, or not in UTF-8. */
function decoded(extended: string): string | undefined {
  const [, text] = /^utf-8'[^']*'(.*)$/is.exec(extended) ?? [];
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The problem for a fault in `files`, or in a place below it. */
function fileProblem(path: readonly string[], message: string): Problem {
  const errors = [{ path: pointer(["files", ...path]), message }];
  return new Problem("invalid_input", `${["files", ...path].join(".")}: ${message}`.slice(0, 500), { errors });
}
