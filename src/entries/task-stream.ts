import { Writable } from "node:stream";
import { currentRedaction, currentTask } from "../core/task/ambient.ts";
import type { TaskContext, TaskLog } from "../core/task/context.ts";

type Level = keyof TaskLog;

/** Levels of pino as words, of winston and of syslog. Any other one is `info`. */
const levels: ReadonlyMap<unknown, Level> = new Map<unknown, Level>([
  ...["emerg", "alert", "crit", "critical", "fatal", "error"].map((name) => [name, "error"] as const),
  ...["warn", "warning"].map((name) => [name, "warn"] as const),
  ...["debug", "verbose", "silly", "trace"].map((name) => [name, "debug"] as const),
]);

/** Members of a line that the task's own log has itself: the time, and what the machine is. */
const ownMembers = new Set(["level", "msg", "message", "time", "timestamp", "pid", "hostname"]);

/**
 * Returns a stream for a logger that writes a line of JSON for each entry, such as pino and winston: what an attempt
 * logs is a line of its task's log, with its level and its fields. A text that is no JSON is a line of the level
 * `info`. A line in CloudWatch's embedded metric format goes to the output as it is, as does what no attempt logs.
 * @example
 * const log = pino(taskStream());
 * const log = winston.createLogger({ transports: [new winston.transports.Stream({ stream: taskStream() })] });
 */
export function taskStream(): Writable {
  return new Writable({
    decodeStrings: false,
    write(chunk, _, done) {
      writeAll(String(chunk));
      done();
    },
  });
}

/** A logger writes whole lines. Only those of JSON are taken apart: another text may have several. */
function writeAll(chunk: string): void {
  const text = chunk.replace(/\r?\n$/, "");
  const lines = text.startsWith("{") ? text.split("\n") : [text];
  const entries = lines.map((line) => [line, parsed(line)] as const);
  const apart = entries.every(([, entry]) => entry !== undefined);
  for (const [line, entry] of apart ? entries : ([[text, undefined]] as const)) writeLine(line, entry);
}

function writeLine(line: string, entry: Record<string, unknown> | undefined): void {
  const task = currentTask();
  if (task === undefined) process.stdout.write(`${currentRedaction()?.(line) ?? line}\n`);
  else if (entry === undefined) task.log.info(line);
  // The worker's console knows metrics, and what a sensitive type keeps of them.
  else if ("_aws" in entry) console.log(line);
  else writeEntry(task, entry);
}

function writeEntry({ log }: TaskContext, entry: Readonly<Record<string, unknown>>): void {
  const message = [entry.msg, entry.message].find((one) => typeof one === "string") ?? "";
  const fields = Object.entries(entry).filter(([name]) => !ownMembers.has(name));
  log[levelOf(entry.level)](message, Object.fromEntries(fields));
}

function levelOf(level: unknown): Level {
  if (typeof level !== "number") return levels.get(level) ?? "info";
  if (level >= 50) return "error";
  if (level >= 40) return "warn";
  return level >= 30 ? "info" : "debug";
}

function parsed(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
