/** Levels of entries, as of Powertools' logger and Lambda's setting. */
const ranks = { TRACE: 6, DEBUG: 8, INFO: 12, WARN: 16, ERROR: 20, CRITICAL: 24, SILENT: 28 } as const;
type LevelName = keyof typeof ranks;

/** Names of an entry's own members, which a field cannot replace. */
const reserved: ReadonlySet<string> = new Set(["level", "message", "sampling_rate", "service", "timestamp"]);

/** Writes an entry of a function's log. */
export type JsonWriter = (
  level: "debug" | "info" | "warn" | "error",
  message: string,
  fields: Readonly<Record<string, unknown>>,
) => void;

/**
 * Returns what writes a line of JSON for each entry, in the form of Powertools' logger: a test compares the two.
 * @param env The least level is `AWS_LAMBDA_LOG_LEVEL`, else `POWERTOOLS_LOG_LEVEL`. Default: `INFO`.
 */
export function jsonWriter(service: string, env: NodeJS.ProcessEnv = process.env): JsonWriter {
  const min = lowestRank(env);
  const write: JsonWriter = (level, message, fields) => {
    const name = level.toUpperCase() as LevelName;
    if (ranks[name] < min) return;
    const entry: Record<string, unknown> = { level: name, timestamp: new Date().toISOString(), service };
    if (message !== "") entry.message = message;
    const trace = env._X_AMZN_TRACE_ID;
    if (trace) entry.xray_trace_id = rootOf(trace);
    for (const field of addFields(entry, fields))
      write("warn", `The key "${field}" is a reserved key and will be dropped.`, {});
    (ranks[name] < ranks.WARN ? process.stdout : process.stderr).write(`${textOf(entry)}\n`);
  };
  return write;
}

/** Adds fields to an entry. @returns The names that it leaves out as they are reserved. */
function addFields(entry: Record<string, unknown>, fields: Readonly<Record<string, unknown>>): string[] {
  const names = Object.keys(fields);
  for (const name of names) {
    const value = fields[name];
    if (!reserved.has(name) && isShown(value) && name !== "__proto__") entry[name] = value;
  }
  return names.filter((name) => reserved.has(name));
}

function lowestRank({ AWS_LAMBDA_LOG_LEVEL: lambda, POWERTOOLS_LOG_LEVEL, LOG_LEVEL }: NodeJS.ProcessEnv): number {
  const named = [lambda === "FATAL" ? "CRITICAL" : lambda, POWERTOOLS_LOG_LEVEL || LOG_LEVEL];
  const found = named.find((name): name is LevelName => name !== undefined && Object.hasOwn(ranks, name));
  return ranks[found ?? "INFO"];
}

/** The trace in `Root=1-5759e988-bd862e3fe1be46a994272793;Parent=557abcec3ee5a047;Sampled=1`. */
const rootOf = (trace: string): string | undefined =>
  trace.includes("=") ? /(?:^|;)Root=([^;]*)/.exec(trace)?.[1] : trace;

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

const isShown = (value: unknown): boolean => value !== undefined && value !== null && value !== "";

/** Most entries have a JSON form. The others are written without circles, with errors and large numbers as texts. */
function textOf(entry: Readonly<Record<string, unknown>>): string {
  if (Object.values(entry).some(isObject)) return JSON.stringify(entry, replacer());
  try {
    return JSON.stringify(entry);
  } catch {
    return JSON.stringify(entry, replacer());
  }
}

/** A replacer of one text: it leaves out what contains itself. */
function replacer(): (this: unknown, name: string, value: unknown) => unknown {
  const parents: unknown[] = [];
  return function replaced(_, value) {
    const shown = value instanceof Error ? errorFields(value) : value;
    if (typeof shown === "bigint") return shown.toString();
    if (!isObject(shown)) return shown;
    while (parents.length > 0 && parents.at(-1) !== this) parents.pop();
    if (parents.includes(shown)) return undefined;
    parents.push(shown);
    return shown;
  };
}

const placePattern = /\(([^()]*?):(\d+?):(\d+?)\)\\?$/m;

function errorFields(error: Error): Record<string, unknown> {
  const { name, message, stack, cause } = error;
  const [, file, line] = placePattern.exec(stack ?? "") ?? [];
  const location = file === undefined ? "" : `${file}:${Number(line)}`;
  const shownCause = cause instanceof Error ? errorFields(cause) : cause;
  return { name, location, message, stack, cause: shownCause, ...withoutOwn(error) };
}

/** The members that an author has given an error. */
function withoutOwn({ name: _, message: _m, stack: _s, cause: _c, ...more }: Error): object {
  return more;
}
