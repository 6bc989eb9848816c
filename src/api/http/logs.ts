import * as z from "zod";
import { type TaskLogs, taskLogPage } from "../../core/control/task-log.ts";
import { attemptsOf } from "../../core/pipeline/end/view.ts";
import { mustSeeInputs } from "../acts/task.ts";
import type { FindTaskPorts } from "../acts/task-of-key.ts";
import type { TaskLogView } from "../acts/views.ts";
import { type HandlersOf, identify } from "./api.ts";
import type { Cursors } from "./cursor.ts";
import { findTask } from "./find-task.ts";
import { numberUpTo, pageParameters, queryOf } from "./query.ts";

/** Query of `GET /tasks/{id}/logs`. */
export const logListSchema = z.object({ ...pageParameters, limit: numberUpTo(1_000).default(100) });

export interface LogPorts extends FindTaskPorts {
  logs: TaskLogs;
  cursors: Cursors;
}

/** The handler that reads the log of a task. */
export const logReads = (ports: LogPorts) =>
  ({
    listLogs: async (call) => {
      const identity = identify(call, "viewer");
      mustSeeInputs(identity);
      const { limit, cursor } = queryOf(call, logListSchema);
      const record = await findTask(ports, call, identity);
      const scope = { identity, list: `log of ${record.task_id}`, filters: {} };
      const from = cursor === undefined ? undefined : ports.cursors.read(scope, cursor);
      const page = await taskLogPage(ports, {
        record,
        attempts: await attemptsOf(ports, record, { stacks: false }),
        limit,
        from,
      });
      const view: TaskLogView = {
        lines: page.lines,
        next_cursor: page.next === undefined ? null : ports.cursors.write(scope, page.next),
        complete: page.next === undefined,
      };
      return call.unstored(view);
    },
  }) satisfies Partial<HandlersOf<"status">>;
