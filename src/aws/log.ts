import { inspect } from "node:util";
import { Logger } from "@aws-lambda-powertools/logger";
import type { Log } from "../core/ports.ts";

/**
 * A function's log. Deployed: one JSON line each, by Powertools. On the local server (`OFFLOAD_LOG` is `text`): one line
 * each that a person can read.
 */
export function createLog(service: string, env: NodeJS.ProcessEnv = process.env): Log {
  return env.OFFLOAD_LOG === "text" ? withFields(textWriter(service), {}) : withFields(jsonWriter(service), {});
}

type Level = "debug" | "info" | "warn" | "error";
type Writer = (level: Level, message: string, fields: Record<string, unknown>) => void;

function withFields(write: Writer, fields: Record<string, unknown>): Log {
  // A line cannot change what its log carries: a handler that logs its input's members must not name another tenant.
  const at = (level: Level) => (message: string, more?: Record<string, unknown>) => {
    try {
      write(level, message, { ...more, ...fields });
    } catch (error) {
      // What cannot be written down is no reason for an attempt to fail.
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

function jsonWriter(service: string): Writer {
  const logger = new Logger({ serviceName: service });
  return (level, message, fields) => logger[level](message, fields);
}

/** `10:02:14.120 worker  attempt settled  type=invoice.generate outcome=completed ...`; no payload is ever among the fields. */
function textWriter(service: string): Writer {
  return (level, message, fields) => {
    if (level === "debug") return;
    const pairs = Object.entries(fields).map(([name, value]) => `${oneLine(name)}=${oneLine(value)}`);
    const mark = level === "info" ? "" : ` ${level.toUpperCase()}`;
    process.stdout.write(
      `${new Date().toISOString().slice(11, 23)} ${service}${mark}: ${printable(message)}  ${pairs.join(" ")}\n`,
    );
  };
}

/** Control characters could forge lines, or rewrite the screen. */
const printable = (text: string): string =>
  text.replaceAll(/\p{Cc}/gu, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`);

const oneLine = (value: unknown): string => {
  const text = typeof value === "string" ? value : asText(value);
  return /^[\x21-\x7e]*$/.test(text) ? text : printable(JSON.stringify(text));
};

/** An error in words, and what JSON has no words for as Node shows it: circles, big numbers. */
function asText(value: unknown): string {
  if (value instanceof Error) return String(value);
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return inspect(value, { breakLength: Number.POSITIVE_INFINITY });
  }
}
