import * as z from "zod";
import { changePriority, type MovePorts } from "../core/control/change-priority.ts";
import type { ViewPorts } from "../core/end/view.ts";
import { expecting } from "../core/model/expected.ts";
import { parseInput } from "../core/model/invalid.ts";
import { tiers } from "../core/model/tier.ts";
import { type ApiPorts, type HandlersOf, identify } from "./api.ts";
import { jsonBody } from "./body.ts";
import { changedTask } from "./control.ts";
import { findTask } from "./find-task.ts";

/** Body of a change of priority. */
export const prioritySchema = z.strictObject({ priority: z.enum(tiers) });

/** The handler that moves a waiting task to another tier. */
export const priorityChanges = (ports: MovePorts & ViewPorts & ApiPorts) =>
  ({
    changeTaskPriority: async (call) => {
      const record = await findTask(ports, call, identify(call));
      const read = async () => parseInput(prioritySchema, await jsonBody(call));
      const { priority } = await expecting(prioritySchema, read);
      return changedTask(ports, call, await changePriority(ports, record, priority), 200);
    },
  }) satisfies Partial<HandlersOf<"control">>;
