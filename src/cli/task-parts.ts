import { type Command, Option } from "commander";
import { type LogLine, Operations, type StepView, type TaskView } from "../client/index.ts";
import { type Status, statuses } from "../core/model/status.ts";
import { type Connection, connectionOf, count, take, withConnection } from "./client.ts";
import { readInput } from "./json-input.ts";
import { type Looks, table } from "./table.ts";
import { plain, type Terminal } from "./terminal.ts";

/** Adds the commands that show what is stored beside a task. */
export function addParts(group: Command, terminal: Terminal): void {
  const steps = group.command("steps <task_id>").description("show the steps, sleeps, waits and states of a task");
  withConnection(steps).action(async (id: string, options: Connection) => {
    const steps = await new Operations(connectionOf(options)).steps(id);
    terminal.out(options.json ? JSON.stringify({ steps }, null, 2) : stepsTable(steps, terminal, options));
  });
  const input = group
    .command("input <task_id>")
    .description("print the input of a task as JSON, if it is kept; or replace that of a waiting task")
    .option("--set <json>", "the task's input from now on, as JSON, @file, or - for the standard input");
  withConnection(input).action(async (id: string, { set, ...options }: Connection & { set?: string }) => {
    const operations = new Operations(connectionOf(options));
    if (set === undefined) return terminal.out(JSON.stringify(await operations.input(id), null, 2));
    await operations.changeInput(id, await readInput(set, terminal));
    terminal.out(`Task ${id} runs with this input from its next attempt on.`);
  });
}

/** Pause before the next look at the log of a task that runs, in milliseconds. */
const lookMs = 1_000;

/** Pages without lines after which a log that is not followed ends: others can be behind one. */
const mostEmptyPages = 3;

/** Adds the command that prints the log of a task. */
export function addLogs(group: Command, terminal: Terminal): void {
  const logs = group
    .command("logs <task_id>")
    .description("print the log of a task: what its handler wrote, and Offload's own lines about it")
    .option("--follow", "print new lines until the task has ended");
  withConnection(logs).action(async (id: string, { follow = false, ...options }: Connection & { follow?: boolean }) => {
    const show = (line: LogLine) => terminal.out(options.json ? JSON.stringify(line) : lineText(line, terminal));
    const isComplete = await printLog(new Operations(connectionOf(options)), id, show, follow ? terminal : undefined);
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

/** Adds the command that lists the children of a task. @param show Prints tasks as a table. */
export function addChildren(
  group: Command,
  terminal: Terminal,
  show: (tasks: readonly TaskView[], looks: Looks) => string,
) {
  const children = group
    .command("children <task_id>")
    .description("list the children of a task")
    .addOption(new Option("--status <status>", "only children with this status").choices(statuses))
    .option("--limit <n>", "maximum number of children", count, 100);
  withConnection(children).action(
    async (id: string, { limit, status, ...options }: Connection & { limit: number; status?: Status }) => {
      const { items, more } = await take(new Operations(connectionOf(options)).children(id, { status }), limit);
      if (options.json) terminal.out(JSON.stringify({ tasks: items }, null, 2));
      else terminal.out(items.length === 0 ? "No children." : show(items, options));
      if (more) terminal.note(`There are more than ${items.length}: raise --limit.`);
    },
  );
}

function stepsTable(steps: readonly StepView[], terminal: Terminal, looks: Looks): string {
  if (steps.length === 0) return "No steps are stored.";
  const rows = steps.map(({ order, kind, name, until, timed_out, result, result_bytes, error }) => [
    order,
    kind,
    name,
    timed_out ? "timed out" : until,
    result_bytes,
    error == null ? (result === null ? undefined : JSON.stringify(result)) : `failed: ${error}`,
  ]);
  return table(["call", "kind", "name", "until", "bytes", "result"], rows, terminal, looks);
}
