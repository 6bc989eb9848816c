import type { Log } from "../ports/tasks.ts";

/** A log without `with`. */
export type LineLog = Omit<Log, "with">;

/** Replaces a text that must not be logged. */
export const redacted = "[redacted]";

/** Shorter texts of an input are not removed: they are not secrets, and removing them would damage every message. */
const shortestSecret = 4;

/** The most values of an input that are looked at, so that a large input does not delay a handler. */
const mostLeaves = 2_000;

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
  for (let seen = 0; open.length > 0 && seen < mostLeaves; seen++) {
    const value = open.pop();
    if (typeof value === "object" && value !== null) open.push(...Object.values(value));
    else if (typeof value === "string" || typeof value === "number") secrets.add(String(value));
  }
  return [...secrets].filter((text) => text.length >= shortestSecret).sort((a, b) => b.length - a.length);
}
