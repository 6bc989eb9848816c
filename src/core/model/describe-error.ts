import { isA, isOfFetch, namesOf, property } from "../../util/foreign-value.ts";

/** A thrown value, described for people. */
export interface Described {
  /** At most 1,000 characters, without lone surrogates, which the table cannot store. */
  message: string;
  /** The error's class or code, at most 128 characters. */
  type: string;
}

/** Number of nested causes that are followed: `fetch` keeps the system's error one level down. */
const deepestCause = 4;

/** Errors of an `AggregateError` that are described. */
const maxInner = 3;

/**
 * Describes a thrown value: the message of an error with that of its cause and of the errors in it, or the value
 * itself. Pure, and never throws.
 * @param codeOf The known code of one error, which says more than a vague name.
 */
export function describeError(
  error: unknown,
  codeOf: (error: unknown) => string | undefined = () => undefined,
): Described {
  const type = typeOf(error, codeOf);
  return { message: textOf(error, type).slice(0, 1000).toWellFormed(), type: type.slice(0, 128).toWellFormed() };
}

/** An error, its cause, the cause's cause, and so on. */
export function withCauses(error: unknown): unknown[] {
  const errors: unknown[] = [];
  for (let one = error; errors.length <= deepestCause && one !== undefined && one !== null; ) {
    errors.push(one);
    one = property(one, "cause");
  }
  return errors;
}

/** The errors of an `AggregateError`, or both errors of a `SuppressedError`, the first one first. */
export function innerErrors(error: unknown): readonly unknown[] {
  const errors = property(error, "errors");
  if (Array.isArray(errors)) return errors;
  const suppressed = property(error, "suppressed");
  return suppressed === undefined ? [] : [suppressed, property(error, "error")];
}

function textOf(error: unknown, type: string): string {
  if (isOfFetch(error, "Response")) return `${type} ${property(error, "statusText") ?? ""}`.trim();
  const [own, ...causes] = withCauses(error).map((one) => ownText(one));
  const message = own || (own === "" && error === "" ? "" : type);
  const cause = causes.find((text) => text !== "" && !message.includes(text));
  return cause === undefined ? message : `${message} (${cause})`;
}

/** The text of one error, without its causes. Empty: it has none. */
function ownText(error: unknown, depth = 0): string {
  if (typeof error === "symbol") return String(error);
  if (typeof error === "function") return "";
  if (typeof error !== "object" || error === null) return String(error);
  const given = property(error, "message");
  const message = typeof given === "string" ? given : "";
  const inner = depth < 2 ? innerErrors(error).slice(0, maxInner + 1) : [];
  const texts = [...new Set(inner.map((one) => ownText(one, depth + 1)).filter((text) => text !== ""))];
  const shown = texts.slice(0, maxInner);
  const rest = innerErrors(error).length - maxInner;
  if (rest > 0 && texts.length > 0) shown.push(`and ${rest} more`);
  if (shown.length > 0) return message === "" ? shown.join("; ") : `${message} (${shown.join("; ")})`;
  return message !== "" || isA(error, Error) ? message : plainText(error, depth);
}

/** Members of a thrown object that may hold a secret, or the request that failed. */
const secretName = /pass|secret|token|auth|key|cookie|credential|session|signature|header|config|request|body/i;

/** Members in which objects keep what happened. */
const nestedName = /^(error|errors|reason|detail|details|cause)$/i;

/** Members of a thrown object that are shown. */
const maxMembers = 10;

/** A thrown object that is no error: its plain members, without those that may hold a secret. */
function plainText(value: object, depth: number): string {
  const shown = namesOf(value)
    .filter((name) => !secretName.test(name))
    .slice(0, maxMembers)
    .flatMap((name) => memberText(name, property(value, name), depth));
  return shown.length === 0 ? "" : `{ ${shown.join(", ")} }`.slice(0, 500);
}

function memberText(name: string, member: unknown, depth: number): string[] {
  if (typeof member === "string") return [`${name}: ${JSON.stringify(member.slice(0, 200))}`];
  if (typeof member === "number" || typeof member === "boolean" || typeof member === "bigint")
    return [`${name}: ${member}`];
  if (typeof member !== "object" || member === null || depth > 1 || !nestedName.test(name)) return [];
  const text = ownText(member, depth + 1);
  return text === "" ? [] : [`${name}: ${text}`];
}

/**
 * Names that say nothing about the failure. `fetch` throws a `TypeError` when the network fails, and a connection an
 * `AggregateError`.
 */
const vagueNames: readonly unknown[] = ["Error", "TypeError", "AggregateError"];

/** Names of JavaScript's own errors: one of a class of the author's own has a class with a better name. */
const nativeNames: readonly unknown[] = [
  ...["Error", "TypeError", "RangeError", "SyntaxError", "ReferenceError", "EvalError", "URIError"],
  ...["AggregateError", "SuppressedError"],
];

/**
 * The error's name: that of its class where a class of the author's own has no name. Undefined: it has none.
 */
export function errorName(error: unknown): string | undefined {
  const name = property(error, "name");
  if (typeof name !== "string" || name === "") return undefined;
  if (!isA(error, Error) || !nativeNames.includes(name)) return name;
  const className = property(property(error, "constructor"), "name");
  return typeof className === "string" && className !== "" && className !== "Object" && className !== "Misuse"
    ? className
    : name;
}

/**
 * The error's class or code. An error with a vague name takes the name of the cause that tells its failure class, so
 * that a network error is not mistaken for an error in the handler's code.
 */
function typeOf(error: unknown, codeOf: (error: unknown) => string | undefined): string {
  const name = errorName(error);
  if (vagueNames.includes(name)) {
    const named = withCauses(error)
      .map(codeOf)
      .find((one) => one !== undefined);
    if (named !== undefined) return named;
  }
  if (name !== undefined && name !== "Error" && typeof error === "object") return name;
  const code = property(error, "code");
  if (typeof code === "string" && code !== "") return code;
  if (isOfFetch(error, "Response")) return `HTTP ${property(error, "status") ?? "response"}`;
  if (isA(error, Error)) return "Error";
  return error === null ? "null" : typeof error;
}
