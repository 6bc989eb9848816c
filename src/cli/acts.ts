import { Argument, type Command } from "commander";
import { Operations, type TaskView } from "../client/index.ts";
import type { CommandText } from "../operations/act.ts";
import { type Connection, clientOf, connectionOf, countTo, withConnection } from "./client.ts";

/** A command for one task. */
export const one = (group: Command, name: string, description: string): Command =>
  withConnection(group.command(`${name} <task_id>`).description(description));

/** Methods for acts on one task, by name: of the client, or of `Operations`. */
type Calls = Readonly<Record<string, (task: string, value: unknown) => Promise<TaskView>>>;

/** Adds the command of an act on one task, as `src/operations` describes it. */
export function addAct(
  group: Command,
  { name, description, takes, value: text, among, call }: CommandText,
  show: (task: TaskView, options: Connection) => void,
): void {
  const option = /^--(\w+)/.exec(takes)?.[1];
  const parse = typeof among === "number" ? countTo(among) : String;
  const command = one(group, name, description);
  if (option !== undefined) command.requiredOption(takes, text, parse as (given: string) => string);
  else
    command.addArgument(
      typeof among === "number" ? new Argument(takes, text) : new Argument(takes, text).choices(among),
    );
  command.action(async (id: string, ...given: unknown[]) => {
    // Commander gives the arguments, then the options, then the command.
    const options = given.at(-2) as Connection & Record<string, unknown>;
    const client = clientOf(options);
    const calls = (call in client ? client : new Operations(connectionOf(options))) as unknown as Calls;
    const task = await calls[call]?.(id, option === undefined ? given[0] : options[option]);
    show(task as TaskView, options);
  });
}
