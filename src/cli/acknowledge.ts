import { clientOf, connection } from "./client.ts";
import type { Register } from "./group.ts";

/** `offload acknowledge` */
export const register: Register = (group) => {
  group.does([["<task_id>"], ...connection], async (options, id) => {
    await clientOf(options).acknowledge(id);
    group.terminal.note(`The result of task ${id} is deleted.`);
  });
};
