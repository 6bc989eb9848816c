import * as z from "zod";
import type { ControlPorts } from "../../core/control/control.ts";
import { matchTasksByFilter, matchTasksByIds, type TaskAction } from "../../core/control/match-tasks.ts";
import { statuses, tiers } from "../../core/model/words.ts";
import { submitFields } from "../../core/pipeline/submit/submit-body.ts";
import type { ApiPorts, HandlersOf } from "./api.ts";
import {
  type AllTenantsPorts,
  type Matcher,
  operationAnswer,
  perSecond,
  selectionFields,
  withOneSelection,
} from "./bulk.ts";
import { timeParameter } from "./query.ts";

const filterSchema = z.strictObject({
  status: z.enum(statuses).optional(),
  retrying: z.boolean().optional(),
  type: z.string().min(1).max(64).optional(),
  priority: z.enum(tiers).optional(),
  created_after: timeParameter.optional(),
  created_before: timeParameter.optional(),
  tags: submitFields.tags,
});

const taskFields = selectionFields(filterSchema);

/** Body of a cancel of many tasks. */
export const cancelTasksSchema = withOneSelection(z.strictObject({ ...taskFields, now: z.boolean().default(false) }));
/** Body of a retry of many tasks. */
export const retryTasksSchema = withOneSelection(z.strictObject({ ...taskFields, per_second: perSecond }));

/** Body of a run-now of many tasks. */
export const runTasksNowSchema = withOneSelection(z.strictObject({ ...taskFields, per_second: perSecond }));

/** Handlers that cancel, retry and run many tasks. */
export const bulkTasks = (ports: ControlPorts & ApiPorts & AllTenantsPorts) =>
  ({
    cancelTasks: (call) => operationAnswer(ports, call, "cancel", cancelTasksSchema, tasksFor(ports, "cancel")),
    retryTasks: (call) => operationAnswer(ports, call, "retry", retryTasksSchema, tasksFor(ports, "retry")),
    runTasksNow: (call) => operationAnswer(ports, call, "run_now", runTasksNowSchema, tasksFor(ports, "run_now")),
  }) satisfies Partial<HandlersOf<"control">>;

const tasksFor = (ports: ControlPorts, action: TaskAction): Matcher<z.output<typeof filterSchema>> => ({
  byFilter: (tenantId, { created_after: createdAfter, created_before: createdBefore, ...filter }, sum) =>
    matchTasksByFilter(ports, tenantId, action, { ...filter, createdAfter, createdBefore }, sum),
  byIds: (tenantId, ids) => matchTasksByIds(ports, tenantId, action, ids),
});
