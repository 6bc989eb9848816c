import * as z from "zod";
import { changePriority } from "../core/change-priority.ts";
import type { DispatchPorts } from "../core/dispatch.ts";
import { expecting } from "../core/expected.ts";
import { parseInput } from "../core/invalid.ts";
import { tiers } from "../core/tier.ts";
import type { ViewPorts } from "../core/view.ts";
import { type ApiPorts, type HandlersOf, identify } from "./api.ts";
import { jsonBody } from "./body.ts";
import { changedTask } from "./control.ts";
import { findTask } from "./find-task.ts";

/** Body of a change of priority. */
export const prioritySchema = z.strictObject({ priority: z.enum(tiers) });

/** The handler that moves a waiting task to another tier. */
export const priorityChanges = (ports: DispatchPorts & ViewPorts & ApiPorts) =>
  ({
    changeTaskPriority: async (call) => {
      const record = await findTask(ports, call, identify(call));
      const read = async () => parseInput(prioritySchema, await jsonBody(call));
      const { priority } = await expecting(prioritySchema, read);
      return changedTask(ports, call, await changePriority(ports, record, priority), 200);
    },
  }) satisfies Partial<HandlersOf<"control">>;
