import { type SentFile, storeFiles } from "../core/files/store-files.ts";
import { uploadSchema } from "../core/files/upload-body.ts";
import type { Identity } from "../core/model/identity.ts";
import { parseInput, pointer } from "../core/model/invalid.ts";
import { Problem } from "../core/model/problem.ts";
import { mostFiles, namePattern } from "../core/task/file-options.ts";
import type { Call } from "./api.ts";
import { bodyBytes, parseBody } from "./body.ts";
import { type SubmitApiPorts, withFiles } from "./submit-ports.ts";

/** Maximum size of a submit with files. Lambda takes 6 MB, and gets the body in Base64. */
export const largestFormBytes = 4 * 1024 ** 2;

/** Name of the part that has the submit as JSON. */
const taskPart = "task";

/** A form's file as the platform's parser returns it. */
type FormFile = File;

/**
 * Reads a submit of `multipart/form-data`: the JSON of its part `task`, with the other parts stored as uploads under `files`.
 * @throws Problem `malformed_request`, `too_large`, `invalid_input`; PortUnavailable
 */
export async function formBody(
  ports: SubmitApiPorts,
  call: Call,
  by: { identity: Identity; idempotencyKey: string | undefined },
): Promise<Record<string, unknown>> {
  const form = await formOf(call);
  const body = await taskOf(form);
  const files = await filesOf(form, body.files);
  return { ...body, files: { ...(body.files as object), ...(await storeFiles(withFiles(ports), by, files)) } };
}

async function formOf(call: Call): Promise<FormData> {
  const bytes = await bodyBytes(call, largestFormBytes);
  const headers = { "content-type": call.req.header("content-type") ?? "" };
  try {
    return await new Response(bytes, { headers }).formData();
  } catch (error) {
    throw new Problem("malformed_request", "The body is not valid multipart/form-data.", { cause: error });
  }
}

/** Reads the part `task`, which clients send as text or as a file of JSON. */
async function taskOf(form: FormData): Promise<Record<string, unknown>> {
  const [part, ...more] = form.getAll(taskPart);
  if (part === undefined || more.length > 0) {
    throw new Problem("malformed_request", "The form must have exactly one part named task, with the submit as JSON.");
  }
  const { body } = parseBody(typeof part === "string" ? part : await part.text());
  const { files } = body;
  if (files !== undefined && (typeof files !== "object" || files === null || Array.isArray(files))) {
    throw fileProblem([], "expected an object of upload ids by name");
  }
  return body;
}

async function filesOf(form: FormData, given: unknown): Promise<Map<string, SentFile>> {
  const files = new Map<string, SentFile>();
  for (const [name, part] of form) {
    if (name === taskPart) continue;
    const isGiven = files.has(name) || Object.hasOwn(given ?? {}, name);
    if (isGiven) throw fileProblem([name], "this file is given twice");
    if (!namePattern.test(name)) throw fileProblem([name], "no type has a file of this name");
    if (typeof part === "string") throw fileProblem([name], "expected a file: the part has no file name");
    files.set(name, { facts: factsOf(name, part), bytes: new Uint8Array(await part.arrayBuffer()) });
  }
  if (files.size > mostFiles) throw fileProblem([], `expected at most ${mostFiles} files`);
  return files;
}

/** @throws Problem `invalid_input` when the media type or the name cannot be stored */
function factsOf(name: string, part: FormFile): SentFile["facts"] {
  const facts = {
    content_type: part.type || "application/octet-stream",
    ...(part.name === "" ? {} : { file_name: part.name }),
  };
  return parseInput(uploadSchema.pick({ content_type: true, file_name: true }), facts, ["files", name]);
}

function fileProblem(path: readonly string[], message: string): Problem {
  const errors = [{ path: pointer(["files", ...path]), message }];
  return new Problem("invalid_input", `${["files", ...path].join(".")}: ${message}`.slice(0, 500), { errors });
}
