import type { LogLine, Operations, TaskView } from "../../client/index.ts";
import { statuses } from "../../core/model/words.ts";
import { firstOf, things } from "./answer.ts";
import { type Connection, connection, isForAll, limit, operationsOf } from "./connection.ts";
import type { Group } from "./group.ts";
import { readInput } from "./json-input.ts";
import { plain, type Terminal } from "./terminal.ts";
import type { Columns } from "./text-table.ts";

const ofOne = [["<task_id>"]] as const;

/** Adds the commands that show what is stored beside a task. */
export function addParts(group: Group): void {
  const about = "show the steps, sleeps, waits and states of a task";
  group.add("steps", about, [...ofOne, ...connection], async (options, id) =>
    things({ steps: await operationsOf(options).steps(id) }, "No steps are stored.", {
      ...{ call: "order", kind: "kind", name: "name" },
      until: ({ timed_out, until }) => (timed_out ? "timed out" : until),
      bytes: "result_bytes",
      result: ({ error, result }) =>
        error == null ? (result === null ? undefined : JSON.stringify(result)) : `failed: ${error}`,
    }),
  );
  const set = ["--set <json>", "the task's input from now on, as JSON, @file, or - for the standard input"] as const;
  const input = "print the input of a task as JSON, if it is kept; or replace that of a waiting task";
  group.add("input", input, [...ofOne, set, ...connection], async (options, id) => {
    const operations = operationsOf(options);
    const { out } = group.terminal;
    if (options.set === undefined) {
      out(JSON.stringify(await operations.input(id), null, 2));
      return;
    }
    await operations.changeInput(id, await readInput(options.set, group.terminal));
    out(`Task ${id} runs with this input from its next attempt on.`);
  });
}

/** Pause before the next look at the log of a task that runs, in milliseconds. */
const lookMs = 1_000;

/** Pages without lines after which a log that is not followed ends: others can be behind one. */
const mostEmptyPages = 3;

/** Adds the command that prints the log of a task. */
export function addLogs(group: Group): void {
  const { terminal } = group;
  const about = "print the log of a task: what its handler wrote, and Offload's own lines about it";
  const follow = ["--follow", "print new lines until the task has ended"] as const;
  group.add("logs", about, [...ofOne, follow, ...connection], async (options, id) => {
    const show = (line: LogLine) => terminal.out(options.json ? JSON.stringify(line) : lineText(line, terminal));
    const isComplete = await printLog(operationsOf(options), id, show, options.follow ? terminal : undefined);
    if (!isComplete) {
      terminal.note("The task has not ended, or its last lines are not there yet: --follow waits for them.");
    }
  });
}

/**
 * Shows the lines of a log. Returns true when it is complete.
 * @param waiting Waits for lines until the task has ended. Undefined: prints the lines that are there.
 */
async function printLog(
  operations: Operations,
  id: string,
  show: (line: LogLine) => void,
  waiting: Pick<Terminal, "pause"> | undefined,
): Promise<boolean> {
  let cursor: string | undefined;
  for (let empty = 0; waiting !== undefined || empty < mostEmptyPages; ) {
    const page = await operations.logPage(id, { cursor, limit: 1_000 });
    for (const line of page.lines) show(line);
    if (page.nextCursor === undefined) return true;
    cursor = page.nextCursor;
    empty = page.lines.length === 0 ? empty + 1 : 0;
    if (empty > 0) await waiting?.pause(lookMs);
  }
  return false;
}

const colours = { debug: "gray", info: undefined, warn: "yellow", error: "red" } as const;

/** A line such as `2027-01-01T00:00:00.000Z info  #1 row imported  rows=5`. */
function lineText({ at, level, attempt, message, fields }: LogLine, terminal: Terminal): string {
  const shown = Object.entries(fields).filter(([name]) => !hidden.has(name));
  const pairs = shown.map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
  const colour = colours[level];
  const mark = level.padEnd(5);
  const texts = [attempt === null ? "" : `#${attempt}`, message, pairs.length === 0 ? "" : ` ${pairs.join(" ")}`];
  const rest = texts.filter((text) => text !== "").map(plain);
  return [plain(at), colour === undefined ? mark : terminal.colour(colour, mark), ...rest].join(" ");
}

/** Fields that are the same in each line of a task. */
const hidden: ReadonlySet<string> = new Set(["type", "tier", "correlation_id", "trace_id"]);

export const tasksColumns = (options: Pick<Connection, "tenant">): Columns<TaskView> => ({
  ...(isForAll(options) && { tenant: "tenant_id" }),
  ...{ task: "task_id", type: "type", status: "status", tier: "priority" },
  attempts: ({ attempts, max_attempts }) => `${attempts}/${max_attempts}`,
  ...{ created: "created_at", error: "error" },
});

/** Adds the command that lists the children of a task. */
export function addChildren(group: Group): void {
  const own = [
    ...ofOne,
    ["--status <status>", "only children with this status", { among: statuses }],
    limit("children", 100),
  ] as const;
  group.add("children", "list the children of a task", [...own, ...connection], (options, id) => {
    const { status, limit } = options;
    const columns = tasksColumns(options);
    return firstOf(operationsOf(options).children(id, { status }), limit, {
      json: "tasks",
      none: "No children.",
      columns,
    });
  });
}
