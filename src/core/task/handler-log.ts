import { isA, namesOf, property } from "../../util/foreign-value.ts";
import { describeError, errorName, innerErrors } from "../model/describe-error.ts";
import type { Log } from "../ports/tasks.ts";
import type { TaskLog } from "./context.ts";

/** A log without `with`. */
export type LineLog = Omit<Log, "with">;

/** Replaces a text that must not be logged. */
export const redacted = "[redacted]";

/** Shorter texts of an input are not removed: they are not secrets, and removing them would damage every message. */
const shortestSecret = 4;

/** The most values of an input that are looked at, so that a large input does not delay a handler. */
const maxLeaves = 2_000;

/** Removes texts and numbers of a sensitive input from a text. */
export type Redact = (text: string) => string;

/** Reads the input when the first text comes: most attempts log nothing. */
export function redactionOf(input: unknown): Redact {
  let secrets: readonly string[] | undefined;
  return (text) => {
    secrets ??= secretsOf(input);
    return secrets.reduce((rest, secret) => rest.replaceAll(secret, redacted), String(text));
  };
}

/**
 * A handler's log for a sensitive type. Fields keep their names and lose their values; texts of the input are removed
 * from messages and names.
 */
export function redactedLog(log: LineLog, redact: Redact): LineLog {
  const at =
    (level: keyof LineLog) =>
    (message: string, fields: Record<string, unknown> = {}) => {
      const names = Object.keys(fields).map((name) => redact(name));
      log[level](redact(message), Object.fromEntries(names.map((name) => [name, redacted])));
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** The texts and numbers of an input, longest first, so that no part of one remains. */
function secretsOf(input: unknown): string[] {
  const secrets = new Set<string>();
  const open: unknown[] = [input];
  for (let seen = 0; open.length > 0 && seen < maxLeaves; seen++) {
    const value = open.pop();
    if (typeof value === "object" && value !== null) open.push(...Object.values(value));
    else if (typeof value === "string" || typeof value === "number") secrets.add(String(value));
  }
  return [...secrets].filter((text) => text.length >= shortestSecret).sort((a, b) => b.length - a.length);
}

/** Longest stack of a logged error, in characters. */
const longestStack = 4_000;

/** Levels of fields in which errors are looked for, and causes of an error that are logged. */
const deepest = 4;

type Fields = Record<string, unknown>;

interface Line {
  message: string;
  fields: Fields | undefined;
}

/**
 * The log as handlers get it: it takes anything in any order (a text and fields, an error, fields and a text, several
 * values) and never throws. An error is logged with its message, its stack and its causes.
 */
export function handlerLog(log: LineLog): TaskLog {
  const at =
    (level: keyof TaskLog) =>
    (...given: unknown[]): void => {
      try {
        const { message, fields } = readableLine(given);
        if (fields === undefined) log[level](message);
        else log[level](message, fields);
      } catch {
        // A line that cannot be written must not fail the attempt.
      }
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** A line of values that cannot be read says so. */
function readableLine(given: readonly unknown[]): Line {
  try {
    return lineOf(given);
  } catch (error) {
    const message = given.find((one) => typeof one === "string") ?? "";
    return { message, fields: { unreadable: describeError(error).message } };
  }
}

function lineOf([first, second, ...more]: readonly unknown[]): Line {
  if (typeof first === "string" && more.length === 0) return { message: first, fields: fieldsOf(second) };
  if (typeof first === "string")
    return { message: first, fields: { ...fieldsOf(second), more: more.map((one) => shown(one)) } };
  const isText = typeof second === "string";
  const rest = isText ? more : [second, ...more].filter((one) => one !== undefined);
  const fields = { ...fieldsOf(first), ...(rest.length > 0 && { more: rest.map((one) => shown(one)) }) };
  const message = isText ? second : messageOf(first);
  return { message, fields: Object.keys(fields).length === 0 || isPlain(first) ? undefined : fields };
}

/** Plain values are the message. */
const isPlain = (value: unknown): boolean =>
  (typeof value !== "object" && typeof value !== "function") || value === null;

function messageOf(value: unknown): string {
  if (value === undefined) return "";
  const message = property(value, "message");
  if (isA(value, Error) || isPlain(value)) return describeError(value).message;
  return typeof message === "string" ? message : "";
}

function fieldsOf(value: unknown): Fields | undefined {
  if (value === undefined) return undefined;
  if (isA(value, Error)) return errorFields(value);
  if (isPlain(value) || typeof value === "function") return { value: shown(value) };
  if (Array.isArray(value)) return { value: shown(value) };
  return Object.fromEntries(namesOf(value as object).map((name) => [name, shown(property(value, name))]));
}

/** An error as fields: `error`, `error_type`, `stack` with those of its causes. */
function errorFields(error: Error): Fields {
  const { message, type } = describeError(error);
  return { error: message, error_type: type, stack: stackOf(error).slice(0, longestStack) };
}

/** The error's stack, its members that a program set, and the stacks of its causes and of the errors in it. */
function stackOf(error: unknown, depth = 0): string {
  const stack = property(error, "stack");
  const own =
    typeof stack === "string" && stack !== "" ? stack : `${errorName(error) ?? ""}${describeError(error).message}`;
  if (depth >= deepest) return own;
  const cause = property(error, "cause");
  const within = [...(cause === undefined || cause === null ? [] : [cause]), ...innerErrors(error).slice(0, 3)];
  return [own, ...within.map((one) => `caused by ${stackOf(one, depth + 1)}`)].join("\n");
}

/** A field's value. Errors in it become fields, as JSON would write them as empty. */
function shown(value: unknown, depth = 0): unknown {
  if (isA(value, Error)) return errorFields(value);
  if (typeof value === "bigint" || typeof value === "symbol") return String(value);
  if (typeof value === "function") return `the function ${property(value, "name")}`;
  if (isPlain(value) || depth >= deepest) return value;
  if (Array.isArray(value)) return value.map((one) => shown(one, depth + 1));
  if (isA(value, Map)) return shown(Object.fromEntries(value), depth + 1);
  if (isA(value, Set)) return shown([...value], depth + 1);
  const members = namesOf(value as object).map((name) => [name, property(value, name)] as const);
  const hasErrors = members.some(([, member]) => isA(member, Error) || typeof member === "bigint");
  if (!hasErrors) return value;
  return Object.fromEntries(members.map(([name, member]) => [name, shown(member, depth + 1)]));
}
