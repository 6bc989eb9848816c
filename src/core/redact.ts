import type { TaskLog } from "./context.ts";

/** What stands in place of what no log may have. */
export const redacted = "[redacted]";

/** Shorter texts of an input are no secrets, and would tear holes into every message. */
const shortestSecret = 4;

/** How much of an input is looked at: enough for what people write, not enough to hold up a handler. */
const mostLeaves = 2_000;

/**
 * A handler's log for a sensitive type: fields keep their names and lose their values, and what the input holds is taken out
 * of messages and names.
 */
export function redactedLog(log: TaskLog, input: unknown): TaskLog {
  let secrets: readonly string[] | undefined;
  const at =
    (level: keyof TaskLog) =>
    (message: string, fields: Record<string, unknown> = {}) => {
      secrets ??= secretsOf(input);
      const known = secrets;
      const names = Object.keys(fields).map((name) => without(known, name));
      log[level](without(known, message), Object.fromEntries(names.map((name) => [name, redacted])));
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** The texts and numbers of an input, the longest first, so that none is left in part. */
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

const without = (secrets: readonly string[], message: string): string =>
  secrets.reduce((text, secret) => text.replaceAll(secret, redacted), String(message));
