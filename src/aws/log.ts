import { appendFileSync } from "node:fs";
import { inspect } from "node:util";
import type { Log } from "../core/ports/tasks.ts";
import { controlCharacters, escapeOf } from "../util/control-characters.ts";
import { jsonWriter } from "./json-lines.ts";
import { systemClock } from "./process.ts";

/**
 * Creates a function's log. In AWS each entry is one line of JSON. On the local server (`OFFLOAD_LOG` is
 * `text`) it is one line of readable text; with `stderr` in `OFFLOAD_LOG_TO` the output is left to a command's result.
 */
export function createLog(service: string, env: NodeJS.ProcessEnv = process.env): Log {
  if (env.OFFLOAD_LOG !== "text") return withFields(jsonWriter(service, env), {});
  const { OFFLOAD_LOG_FILE: file } = env;
  const write = textWriter(service, env.OFFLOAD_VERBOSE === "1", terminalOf(env));
  return withFields(file === undefined ? write : both(write, fileWriter(service, file)), {});
}

/**
 * Returns what writes a line as it is, past the console: Lambda puts a time and an id before the console's lines. On
 * the local server the line cannot change the terminal's screen.
 */
export const bareLines =
  (env: NodeJS.ProcessEnv = process.env): ((line: string) => void) =>
  (line) => {
    if (env.OFFLOAD_LOG === "text") terminalOf(env).write(`${printable(line)}\n`);
    else process.stdout.write(`${line}\n`);
  };

const terminalOf = ({ OFFLOAD_LOG_TO }: NodeJS.ProcessEnv): NodeJS.WriteStream =>
  OFFLOAD_LOG_TO === "stderr" ? process.stderr : process.stdout;

const both =
  (first: Writer, second: Writer): Writer =>
  (...line) => {
    first(...line);
    second(...line);
  };

/** Adds the lines of tasks to the local server's file, as CloudWatch Logs has them. */
function fileWriter(service: string, file: string): Writer {
  return (level, message, fields) => {
    if (fields.task_id === undefined) return;
    const nowMs = systemClock.now();
    const times = { timestamp: new Date(nowMs).toISOString(), ...(isMoved(nowMs) && { machine_time: new Date() }) };
    try {
      const text = lineText({ level: level.toUpperCase(), message, ...times, service, ...fields });
      appendFileSync(file, `${text}\n`, { mode: 0o600 });
    } catch {
      // The disk is full, or the server's folder is gone: the line is on the terminal.
    }
  };
}

/** True when a local server's clock is not the machine's: its user has moved it. */
const isMoved = (nowMs: number): boolean => Math.abs(nowMs - Date.now()) > 500;

/**
 * The time of a line on a terminal: the machine's, such as `10:02:14.120`, by which lines are in order, and behind it
 * the server's where that is another.
 * @param nowMs The server's, in epoch milliseconds.
 */
export const timeOfLine = (nowMs: number): string => {
  const ofMachine = new Date().toISOString().slice(11, 23);
  return isMoved(nowMs) ? `${ofMachine} (${new Date(nowMs).toISOString().slice(0, 19)}Z)` : ofMachine;
};

/** One line of JSON. Values without a JSON form are texts in it. */
function lineText(line: Record<string, unknown>): string {
  try {
    return JSON.stringify(line);
  } catch {
    return JSON.stringify(Object.fromEntries(Object.entries(line).map(([name, value]) => [name, jsonOf(value)])));
  }
}

const jsonOf = (value: unknown): unknown =>
  ["string", "number", "boolean"].includes(typeof value) ? value : asText(value);

type Level = "debug" | "info" | "warn" | "error";
type Writer = (level: Level, message: string, fields: Record<string, unknown>) => void;

function withFields(write: Writer, fields: Record<string, unknown>): Log {
  // The log's own fields win over an entry's. A handler that logs its input must not be able to name another tenant.
  const at = (level: Level) => (message: string, more?: Record<string, unknown>) => {
    try {
      write(level, message, { ...more, ...fields });
    } catch (error) {
      // An attempt must not fail because its log fields cannot be written.
      write(level, message, { unwritten: String(error), ...fields });
    }
  };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    with: (more) => withFields(write, { ...fields, ...more }),
  };
}

/** Ids that nobody looks for on a terminal; `dev --verbose` shows them. */
const longIds: ReadonlySet<string> = new Set(["message_id", "correlation_id", "trace_id", "schedule_id"]);

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/;

/**
 * Leaves out ids that are made up, and shortens those of tasks to their first 13 characters, by which the commands find
 * them.
 */
function shortFields(fields: Record<string, unknown>): Record<string, unknown> {
  const isId = (value: unknown): value is string => typeof value === "string" && uuid.test(value);
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([name, value]) => !(longIds.has(name) && isId(value)))
      .map(([name, value]) => [name, name.endsWith("_id") && isId(value) ? value.slice(0, 13) : value]),
  );
}

/** Writes lines such as `10:02:14.120 submit: task submitted  type=invoice.generate`. Leaves out debug entries. */
function textWriter(service: string, verbose: boolean, output: NodeJS.WriteStream): Writer {
  return (level, message, fields) => {
    if (level === "debug") return;
    const { text, more, stack } = message === "attempt settled" ? attemptText(fields) : { text: message, more: fields };
    const pairs = Object.entries(verbose ? more : shortFields(more)).map(
      ([name, value]) => `${oneLine(name)}=${oneLine(value)}`,
    );
    const mark = level === "info" ? "" : ` ${level.toUpperCase()}`;
    // What a handler wrote to the console may have lines, such as those of a table or a stack.
    const shown = fields.source === "console" ? text.split("\n").map(printable).join("\n    ") : printable(text);
    output.write(
      `${timeOfLine(systemClock.now())} ${service}${mark}: ${shown}  ${pairs.join(" ")}\n${stackLines(stack)}`,
    );
  };
}

/**
 * The end of an attempt as a sentence, such as
 * `mail.send: attempt 2 retried after 31 ms, transient: connect ECONNREFUSED`.
 */
function attemptText(fields: Record<string, unknown>): {
  text: string;
  more: Record<string, unknown>;
  stack?: unknown;
} {
  const {
    type,
    attempt,
    outcome,
    duration_ms,
    error_kind,
    error,
    next_attempt_at,
    task_id,
    tenant_id,
    correlation_id,
  } = fields;
  const failure = error_kind === undefined ? "" : `, ${error_kind}${error === undefined ? "" : `: ${error}`}`;
  const next = next_attempt_at === undefined ? "" : `; next attempt at ${next_attempt_at}`;
  return {
    text: `${type}: attempt ${attempt} ${outcome} after ${duration_ms} ms${failure}${next}`,
    more: { task_id, tenant_id, correlation_id },
    stack: fields.stack,
  };
}

/** The lines of a stack below the log line, which has its first line. */
const stackLines = (stack: unknown): string =>
  typeof stack === "string"
    ? stack
        .split("\n")
        .slice(1)
        .map((line) => `    ${printable(line)}\n`)
        .join("")
    : "";

/** Escapes control characters, which could fake log lines or change the terminal's screen. */
const printable = (text: string): string =>
  text.replaceAll(controlCharacters, (char) =>
    char > "\u00ff" ? escapeOf(char) : `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );

const oneLine = (value: unknown): string => {
  const text = typeof value === "string" ? value : asText(value);
  return /^[\x21-\x7e]*$/.test(text) ? text : printable(JSON.stringify(text));
};

/**
 * An error becomes `Name: message`. A value without a JSON form, such as a circular object, is written as Node shows
 * it.
 */
function asText(value: unknown): string {
  if (value instanceof Error) return String(value);
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return inspect(value, { breakLength: Number.POSITIVE_INFINITY });
  }
}
