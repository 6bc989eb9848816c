import { type Command, Option } from "commander";
import { Operations, type StepView, type TaskView } from "../client/index.ts";
import { type Status, statuses } from "../core/model/status.ts";
import { type Connection, connectionOf, count, take, withConnection } from "./client.ts";
import { readInput } from "./json-input.ts";
import { type Looks, table } from "./table.ts";
import type { Terminal } from "./terminal.ts";

/** Adds the commands that show what is stored beside a task. */
export function addParts(group: Command, terminal: Terminal): void {
  const steps = group.command("steps <task_id>").description("show the steps, sleeps, waits and states of a task");
  withConnection(steps).action(async (id: string, options: Connection) => {
    const steps = await new Operations(connectionOf(options)).steps(id);
    terminal.out(options.json ? JSON.stringify({ steps }, null, 2) : stepsTable(steps, terminal, options));
  });
  const input = group
    .command("input <task_id>")
    .description("print the input of a task as JSON, if it is kept; or give a waiting task another one")
    .option("--set <json>", "the task's input from now on, as JSON, @file, or - for the standard input");
  withConnection(input).action(async (id: string, { set, ...options }: Connection & { set?: string }) => {
    const operations = new Operations(connectionOf(options));
    if (set === undefined) return terminal.out(JSON.stringify(await operations.input(id), null, 2));
    await operations.changeInput(id, await readInput(set, terminal));
    terminal.out(`Task ${id} runs with this input from its next attempt on.`);
  });
}

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
  const rows = steps.map(({ order, kind, name, until, timed_out, result, result_bytes }) => [
    order,
    kind,
    name,
    timed_out ? "timed out" : until,
    result_bytes,
    result === null ? undefined : JSON.stringify(result),
  ]);
  return table(["call", "kind", "name", "until", "bytes", "result"], rows, terminal, looks);
}
