import { pointer } from "../../core/model/invalid.ts";
import { Problem } from "../../core/model/problem.ts";
import { inexact, numberFault } from "../../util/exact-number.ts";
import type { Call } from "./call.ts";

/** Maximum size of a request body. */
export const largestBodyBytes = 1024 * 1024;

/** Maximum nesting depth of a body: deeper nesting could overflow the stack of later code. */
export const deepestBody = 64;

/**
 * Reads the request's body, which must be a JSON object.
 * @throws Problem `unsupported_media_type`, `too_large`, `malformed_request`, `invalid_input`
 */
export const jsonBody = async (call: Call): Promise<Record<string, unknown>> => parseObject(await requestText(call));

/** The media type of the request's body, without parameters. Undefined or empty: the request names none. */
export const mediaTypeOf = (call: Call): string | undefined =>
  call.req.header("content-type")?.split(";")[0]?.trim().toLowerCase();

async function requestText(call: Call): Promise<string> {
  if (mediaTypeOf(call) !== "application/json") {
    throw new Problem("unsupported_media_type", "The body must be JSON: send Content-Type: application/json.");
  }
  return bodyText(call);
}

/**
 * Reads the body of a batch. An entry that a single request could not have as its body is replaced by its problem, so
 * that it refuses no other entry.
 * @throws Problem as `jsonBody`
 */
export async function batchBody(call: Call): Promise<Record<string, unknown>> {
  const { tasks, ...rest } = asObject(readJson(await requestText(call)));
  checkShape(rest);
  if (!Array.isArray(tasks)) return { tasks, ...rest };
  return { tasks: tasks.map((entry) => faultOf(entry) ?? entry), ...rest };
}

function faultOf(entry: unknown): Problem | undefined {
  try {
    checkShape(entry);
    return undefined;
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

/** Reads the body like `jsonBody`, but accepts an empty body and any content type. */
export async function optionalJsonBody(call: Call): Promise<Record<string, unknown>> {
  const text = await bodyText(call);
  return text.trim() === "" ? {} : parseObject(text);
}

/**
 * Reads a body that may be any JSON value, of any content type. An empty body is null.
 * @throws Problem `too_large`, `malformed_request`, `invalid_input`
 */
export async function optionalJsonValue(call: Call): Promise<unknown> {
  const text = await bodyText(call);
  return text.trim() === "" ? null : parseJson(text);
}

/**
 * Reads the request's body.
 * @throws Problem `too_large`, `unsupported_media_type`
 */
export function bodyBytes(call: Call, most: number): Uint8Array {
  const encoding = call.req.header("content-encoding")?.trim().toLowerCase() ?? "identity";
  if (encoding !== "identity" && encoding !== "") {
    throw new Problem("unsupported_media_type", "The body must not be compressed: send it without Content-Encoding.");
  }
  const bytes = call.req.bytes();
  if (bytes.byteLength > most) throw tooLarge(most);
  return bytes;
}

const bodyText = (call: Call): string => textOf(bodyBytes(call, largestBodyBytes), "The body");

/** @throws Problem `malformed_request` for bytes that are not UTF-8 */
export function textOf(bytes: Uint8Array, what: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Problem("malformed_request", `${what} is not valid UTF-8.`);
  }
}

/**
 * Parses a body that was not a request's, with the same checks.
 * @throws Problem `too_large`, `malformed_request`, `invalid_input`
 */
export function parseBody(text: string): { body: Record<string, unknown>; bytes: number } {
  const bytes = Buffer.byteLength(text);
  if (bytes > largestBodyBytes) throw tooLarge(largestBodyBytes);
  return { body: parseObject(text), bytes };
}

const tooLarge = (most: number) =>
  new Problem("too_large", `The request is larger than ${most} bytes (${most / 1024 ** 2} MiB).`);

const parseObject = (text: string): Record<string, unknown> => asObject(parseJson(text));

function asObject(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Problem("malformed_request", "The body must be a JSON object.");
  }
  return value as Record<string, unknown>;
}

/**
 * Parses JSON. Refuses numbers that would come back as other ones: too large or too small ones, and integers whose
 * digits would change. Fractions may round.
 * @throws Problem `malformed_request`, `invalid_input`
 */
export function parseJson(text: string): unknown {
  const value = readJson(text);
  checkShape(value);
  return value;
}

/** @throws Problem `malformed_request` */
function readJson(text: string): unknown {
  try {
    return mayChange.test(text) ? JSON.parse(text, keepExact) : JSON.parse(text);
  } catch (error) {
    throw new Problem("malformed_request", "The body is not valid JSON.", { cause: error });
  }
}

/**
 * A number of at least 16 digits, with an exponent, or with a very long fraction. Integers of fewer digits are exact as
 * doubles.
 */
const mayChange = /(?:^|[[:,\s])-?(?:\d{16}|\d+(?:\.\d{300}|(?:\.\d+)?[eE]))/;

/** They stand for numbers that would come back as other ones. JSON has no such values. */
const [tooLong, tooSmall] = [1n, 0n];

/** Replaces a number that would come back as another one. */
function keepExact(_: string, value: unknown, { source = "" }: { source?: string } = {}): unknown {
  if (typeof value !== "number" || source === "") return value;
  const fault = numberFault(source, value);
  return fault === undefined ? value : fault === "small" ? tooSmall : tooLong;
}

/** A value within a body, and where it is. */
interface Place {
  value: unknown;
  depth: number;
  /** Name of the field, or index in the array. */
  name: string;
  parent?: Place;
}

/** Refuses numbers that would change, very deep nesting, and fields named `__proto__`. */
function checkShape(root: unknown): void {
  const open: Place[] = [{ value: root, depth: 1, name: "" }];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    if (typeof place.value === "object" && place.value !== null) checkObject(place.value, place.depth);
    else if (isInexact(place.value)) throw inexactProblem(place);
    for (const [name, value] of membersOf(place.value)) {
      if (isInexact(value) || typeof value === "object") {
        open.push({ value, depth: place.depth + 1, name, parent: place });
      }
    }
  }
}

const membersOf = (value: unknown): [string, unknown][] =>
  typeof value === "object" && value !== null ? Object.entries(value) : [];

const isInexact = (value: unknown): boolean =>
  typeof value === "bigint" || (typeof value === "number" && !Number.isFinite(value));

function checkObject(value: object, depth: number): void {
  if (depth > deepestBody) {
    throw new Problem("malformed_request", `The body is nested deeper than ${deepestBody} levels.`);
  }
  if (Object.hasOwn(value, "__proto__")) {
    throw new Problem("malformed_request", "The body has a field named __proto__, which is not allowed.");
  }
}

function inexactProblem(place: Place): Problem {
  const path: string[] = [];
  for (let at = place; at.parent !== undefined; at = at.parent) path.unshift(at.name);
  const message = inexact(place.value === tooSmall ? "small" : "large");
  const detail = path.length === 0 ? message : `${path.join(".")}: ${message}`;
  return new Problem("invalid_input", detail.slice(0, 500), { errors: [{ path: pointer(path), message }] });
}
