import { type Connection, clientOf, withConnection } from "./client.ts";
import type { Register } from "./register.ts";

/** `offload acknowledge` */
export const register: Register = (command, terminal) => {
  withConnection(command.argument("<task_id>")).action(async (id: string, options: Connection) => {
    await clientOf(options).acknowledge(id);
    terminal.note(`The result of task ${id} is deleted.`);
  });
};
