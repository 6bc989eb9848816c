import * as z from "zod";
import { cancelOperation } from "../core/control/cancel-operation.ts";
import type { ControlPorts } from "../core/control/control.ts";
import { matchTasksByFilter, matchTasksByIds, type TaskAction } from "../core/control/match-tasks.ts";
import { findOperation } from "../core/control/operation-state.ts";
import type { ViewPorts } from "../core/end/view.ts";
import { Problem } from "../core/model/problem.ts";
import { statuses } from "../core/model/status.ts";
import { tiers } from "../core/model/tier.ts";
import { submitFields } from "../core/submit/submit-body.ts";
import { type ApiPorts, type Call, type HandlersOf, identify } from "./api.ts";
import { readNothing } from "./control.ts";
import { isUuid } from "./find-task.ts";
import { type Matcher, operationAnswer, perSecond, selectionFields, withOneSelection } from "./operations.ts";
import { timeParameter } from "./query.ts";
import { pollHeaders } from "./status.ts";

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
export const cancelTasksSchema = withOneSelection(z.strictObject(taskFields));
/** Body of a retry of many tasks. */
export const retryTasksSchema = withOneSelection(z.strictObject({ ...taskFields, per_second: perSecond }));

/** Body of a run-now of many tasks. */
export const runTasksNowSchema = withOneSelection(z.strictObject({ ...taskFields, per_second: perSecond }));

/** Handlers that cancel, retry and run many tasks, and cancel operations. */
export const taskOperations = (ports: ControlPorts & ViewPorts & ApiPorts) =>
  ({
    cancelTasks: (call) => operationAnswer(ports, call, "cancel", cancelTasksSchema, tasksFor(ports, "cancel")),
    retryTasks: (call) => operationAnswer(ports, call, "retry", retryTasksSchema, tasksFor(ports, "retry")),
    runTasksNow: (call) => operationAnswer(ports, call, "run_now", runTasksNowSchema, tasksFor(ports, "run_now")),
    cancelOperation: (call) => cancelAnswer(ports, call),
  }) satisfies Partial<HandlersOf<"control">>;

const tasksFor = (ports: ControlPorts, action: TaskAction): Matcher<z.output<typeof filterSchema>> => ({
  byFilter: (tenantId, { created_after: createdAfter, created_before: createdBefore, ...filter }) =>
    matchTasksByFilter(ports, tenantId, action, { ...filter, createdAfter, createdBefore }),
  byIds: (tenantId, ids) => matchTasksByIds(ports, tenantId, action, ids),
});

async function cancelAnswer(ports: ControlPorts & ViewPorts & ApiPorts, call: Call): Promise<Response> {
  const { tenantId } = identify(call, "operator");
  const id = call.req.param("operation_id") ?? "";
  const operation = isUuid(id) ? await findOperation(ports, tenantId, id) : undefined;
  if (operation === undefined) throw noSuchOperation();
  await readNothing(call);
  await cancelOperation(ports, operation.record, call.get("correlationId"));
  const now = await findOperation(ports, tenantId, id, "consistently");
  if (now === undefined) throw noSuchOperation();
  pollHeaders(ports, call, now.record);
  call.header("content-location", `/operations/${id}`);
  return call.json(now.view, 202);
}

const noSuchOperation = () => new Problem("not_found", "No such operation.");
