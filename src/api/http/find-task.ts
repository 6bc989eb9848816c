import type { TaskRecord } from "../../core/model/record.ts";
import type { Identity } from "../../core/model/words.ts";
import { taskIn } from "../acts/task.ts";
import type { FindTaskPorts } from "../acts/task-of-key.ts";
import type { Call } from "./call.ts";

/**
 * Returns the task in the path, if the caller may see it.
 * @throws Problem `not_found`, the same for another caller's task and for a task that does not exist
 */
export const findTask = (ports: FindTaskPorts, call: Call, by: Identity): Promise<TaskRecord> =>
  taskIn(ports, { by, params: call.req.params, addTarget: call.get("addTarget") });
