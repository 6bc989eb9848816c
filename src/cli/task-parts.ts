import type { Command } from "commander";
import { Operations, type StepView } from "../client/index.ts";
import { type Connection, connectionOf, withConnection } from "./client.ts";
import { type Looks, table } from "./table.ts";
import type { Terminal } from "./terminal.ts";

/** Adds the commands that show what is stored beside a task. */
export function addParts(group: Command, terminal: Terminal): void {
  const steps = group.command("steps <task_id>").description("show the steps, sleeps, waits and states of a task");
  withConnection(steps).action(async (id: string, options: Connection) => {
    const steps = await new Operations(connectionOf(options)).steps(id);
    terminal.out(options.json ? JSON.stringify({ steps }, null, 2) : stepsTable(steps, terminal, options));
  });
  const input = group.command("input <task_id>").description("print the input of a task as JSON, while it is kept");
  withConnection(input).action(async (id: string, options: Connection) => {
    terminal.out(JSON.stringify(await new Operations(connectionOf(options)).input(id), null, 2));
  });
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
