import type * as z from "zod";
import { Problem } from "./problem.ts";

/** The most faults that one answer lists. */
const maxErrors = 20;

/**
 * Reads a value with its schema.
 * @param within Path of the value in the request's body. Default: the value is the body.
 * @throws Problem `invalid_input`
 */
export function parseInput<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  within: readonly string[] = [],
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw inputProblem(parsed.error, value, within);
  return parsed.data;
}

/** The problem for a value that does not fit its schema, with a JSON pointer for each fault. */
export function inputProblem(error: z.ZodError, value: unknown, within: readonly string[]): Problem {
  const issues = error.issues.slice(0, maxErrors).flatMap(expand).slice(0, maxErrors);
  const errors = issues.map((issue) => ({ path: pointer([...within, ...issue.path]), message: issue.message }));
  const first = issues[0];
  const name = first === undefined ? "" : [...within, ...first.path].map(String).join(".");
  const detail =
    first === undefined ? "The input is not valid." : `${name || "body"}: ${first.message}${got(value, first.path)}`;
  return new Problem("invalid_input", detail.slice(0, 500), { errors });
}

interface Fault {
  path: readonly PropertyKey[];
  message: string;
}

/** Makes one fault of each unknown field, at its own path. */
function expand(issue: z.core.$ZodIssue): Fault[] {
  if (issue.code !== "unrecognized_keys") return [{ path: issue.path, message: wording(issue.message) }];
  return issue.keys.map((key) => ({ path: [...issue.path, key], message: "unknown field" }));
}

/** "Too small: expected number to be >0" reads better without its class. */
const wording = (message: string): string => {
  const text = message.replace(/^(Too small|Too big|Invalid (input|option|string|key in record)): /, "");
  return text.charAt(0).toLowerCase() + text.slice(1, 200);
};

/** Writes a path as a JSON pointer (RFC 6901), of at most 300 characters. */
export const pointer = (path: readonly PropertyKey[]): string =>
  path
    .map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`)
    .join("")
    .slice(0, 300);

/** Quotes a short plain value, so that the caller sees which value is wrong. */
function got(value: unknown, path: readonly PropertyKey[]): string {
  let current: unknown = value;
  for (const step of path) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, step)) return "";
    current = (current as Record<PropertyKey, unknown>)[step];
  }
  if (typeof current !== "number" && typeof current !== "boolean" && typeof current !== "string") return "";
  const text = JSON.stringify(current);
  return text.length <= 60 ? `, got ${text}` : "";
}
