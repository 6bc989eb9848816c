import type { CommandText } from "../../api/acts/act.ts";
import { Operations, type TaskView } from "../../client/index.ts";
import { thing } from "./answer.ts";
import { type Connection, clientOf, connection, connectionOf, countTo } from "./connection.ts";
import type { Group } from "./group.ts";

/** Methods for acts on one task, by name: of the client, or of `Operations`. */
type Calls = Readonly<Record<string, (task: string, value: unknown) => Promise<TaskView>>>;

/** Adds the command of an act on one task, as `src/api/acts` describes it. */
export function addAct(group: Group, { name, description, takes, value, among, call }: CommandText): void {
  const reading = { required: true, ...(typeof among === "number" ? { read: countTo(among) } : { among }) } as const;
  const act = async (options: Connection, id: string, operand: unknown) => {
    const option = /^--(\w+)/.exec(takes)?.[1];
    const client = clientOf(options);
    const calls = (call in client ? client : new Operations(connectionOf(options))) as unknown as Calls;
    const given = option === undefined ? operand : options[option as keyof Connection];
    return thing(await (calls[call] as Calls[string])(id, given));
  };
  group.add(name, description, [["<task_id>"], ...connection, [takes, value, reading]], act as never);
}
