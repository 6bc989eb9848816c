import { existsSync, renameSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";

/** The file is put aside when it is larger than this, in bytes; the one before it is then deleted. */
const maxBytes = 16 * 1024 * 1024;

/** Time between two looks at the file's size, in milliseconds. */
const lookMs = 5_000;

/** Lines of an answer, at most. */
const maxEvents = 10_000;

/** Input of FilterLogEvents, as far as functions use it. */
interface FilterRequest {
  logGroupName?: string;
  filterPattern?: string;
  startTime?: number;
  endTime?: number;
  limit?: number;
  nextToken?: string;
}

interface Event {
  message: string;
  timestamp: number;
}

/** The lines of tasks, to which all processes of the server append: the newest 16 MiB, and up to 16 MiB before them. */
export class LogFile {
  readonly path: string;
  readonly #older: string;
  readonly #look: NodeJS.Timeout;

  constructor(path: string) {
    this.path = path;
    this.#older = `${path}.1`;
    this.#look = setInterval(() => this.#putAside(), lookMs).unref();
  }

  close(): void {
    clearInterval(this.#look);
  }

  /**
   * Answers FilterLogEvents for patterns that compare texts. The token of the next page is the number of lines before
   * it.
   */
  async filter(request: FilterRequest): Promise<{ events: Event[]; nextToken?: string }> {
    const { startTime = 0, endTime = Number.MAX_SAFE_INTEGER, limit = maxEvents, nextToken = "0" } = request;
    const wanted = wantedOf(request.filterPattern ?? "");
    const events: Event[] = [];
    for (const path of [this.#older, this.path]) {
      for (const text of await linesWith(path, wanted)) {
        const event = eventOf(text, wanted, request.logGroupName);
        if (event !== undefined && event.timestamp >= startTime && event.timestamp <= endTime) events.push(event);
      }
    }
    const sorted = events.sort((a, b) => a.timestamp - b.timestamp);
    const end = Number(nextToken) + limit;
    const page = sorted.slice(Number(nextToken), end);
    return { events: page, ...(end < sorted.length && { nextToken: String(end) }) };
  }

  #putAside(): void {
    try {
      if (existsSync(this.path) && statSync(this.path).size > maxBytes) renameSync(this.path, this.#older);
    } catch {
      // Another program has the file open, on Windows. The next look tries again.
    }
  }
}

/** The fields that a pattern compares, such as `{ ($.task_id = "...") && ($.tenant_id = "...") }`. */
const wantedOf = (pattern: string): [name: string, value: string][] =>
  [...pattern.matchAll(/\$\.(\w+) = "([^"]*)"/g)].map(([, name = "", value = ""]) => [name, value]);

/** The lines of a file that have a value of the pattern in them. */
async function linesWith(path: string, wanted: readonly [string, string][]): Promise<string[]> {
  const [, needle = ""] = wanted[0] ?? [];
  if (needle === "" || !existsSync(path)) return [];
  const bytes = await readFile(path);
  const lines: string[] = [];
  for (let at = bytes.indexOf(needle); at >= 0; ) {
    const start = bytes.lastIndexOf(10, at) + 1;
    const found = bytes.indexOf(10, at);
    const end = found < 0 ? bytes.length : found;
    lines.push(bytes.subarray(start, end).toString("utf8"));
    at = bytes.indexOf(needle, end);
  }
  return lines;
}

function eventOf(message: string, wanted: readonly [string, string][], service: string | undefined): Event | undefined {
  let line: Record<string, unknown>;
  try {
    line = JSON.parse(message) as Record<string, unknown>;
  } catch {
    // A process died while it wrote the line.
    return undefined;
  }
  const matches = line.service === service && wanted.every(([name, value]) => line[name] === value);
  return matches ? { message, timestamp: Date.parse(String(line.timestamp)) } : undefined;
}
