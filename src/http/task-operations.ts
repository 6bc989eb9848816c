import * as z from "zod";
import { cancelOperation } from "../core/control/cancel-operation.ts";
import { changeRate } from "../core/control/change-rate.ts";
import type { ControlPorts } from "../core/control/control.ts";
import { matchTasksByFilter, matchTasksByIds, type TaskAction } from "../core/control/match-tasks.ts";
import type { ViewPorts } from "../core/end/view.ts";
import { expecting } from "../core/model/expected.ts";
import { parseInput } from "../core/model/invalid.ts";
import { statuses } from "../core/model/status.ts";
import { tiers } from "../core/model/tier.ts";
import { submitFields } from "../core/submit/submit-body.ts";
import type { ApiPorts, Call, HandlersOf } from "./api.ts";
import { jsonBody } from "./body.ts";
import { readNothing } from "./control.ts";
import { operationIn } from "./dead-letters.ts";
import {
  type AllTenantsPorts,
  type Matcher,
  operationAnswer,
  perSecond,
  selectionFields,
  withOneSelection,
} from "./operations.ts";
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
export const cancelTasksSchema = withOneSelection(z.strictObject({ ...taskFields, now: z.boolean().default(false) }));
/** Body of a retry of many tasks. */
export const retryTasksSchema = withOneSelection(z.strictObject({ ...taskFields, per_second: perSecond }));

/** Body of a run-now of many tasks. */
export const runTasksNowSchema = withOneSelection(z.strictObject({ ...taskFields, per_second: perSecond }));

/** Body of a change of an operation. */
export const changeOperationSchema = z.strictObject({ per_second: z.int().min(1).max(100) });

/** Handlers that cancel, retry and run many tasks, and cancel and slow down operations. */
export const taskOperations = (ports: ControlPorts & ViewPorts & ApiPorts & AllTenantsPorts) =>
  ({
    cancelTasks: (call) => operationAnswer(ports, call, "cancel", cancelTasksSchema, tasksFor(ports, "cancel")),
    retryTasks: (call) => operationAnswer(ports, call, "retry", retryTasksSchema, tasksFor(ports, "retry")),
    runTasksNow: (call) => operationAnswer(ports, call, "run_now", runTasksNowSchema, tasksFor(ports, "run_now")),
    cancelOperation: (call) => cancelAnswer(ports, call),
    changeOperation: (call) => changeAnswer(ports, call),
  }) satisfies Partial<HandlersOf<"control">>;

const tasksFor = (ports: ControlPorts, action: TaskAction): Matcher<z.output<typeof filterSchema>> => ({
  byFilter: (tenantId, { created_after: createdAfter, created_before: createdBefore, ...filter }, sum) =>
    matchTasksByFilter(ports, tenantId, action, { ...filter, createdAfter, createdBefore }, sum),
  byIds: (tenantId, ids) => matchTasksByIds(ports, tenantId, action, ids),
});

async function changeAnswer(ports: ControlPorts & ViewPorts & ApiPorts, call: Call): Promise<Response> {
  const operation = await operationIn(ports, call, "consistently");
  const { per_second: rate } = await expecting(changeOperationSchema, async () =>
    parseInput(changeOperationSchema, await jsonBody(call)),
  );
  await changeRate(ports, operation.record, rate);
  pollHeaders(ports, call, operation.record);
  return call.json(operation.view);
}

async function cancelAnswer(ports: ControlPorts & ViewPorts & ApiPorts, call: Call): Promise<Response> {
  const operation = await operationIn(ports, call);
  await readNothing(call);
  await cancelOperation(ports, operation.record, call.get("correlationId"));
  const now = await operationIn(ports, call, "consistently");
  pollHeaders(ports, call, now.record);
  call.header("content-location", `/operations/${now.view.operation_id}`);
  return call.json(now.view, 202);
}
