import * as z from "zod";
import { groupsOf, ofEach } from "../../core/control/all-tenants.ts";
import {
  type DeadLetterFilter,
  matchByFilter,
  matchByIds,
  type ReadSoFar,
} from "../../core/control/find-dead-letters.ts";
import { type OperationAction, onTasks, type StartPorts, startOperation } from "../../core/control/operation.ts";
import { fieldProblem } from "../../core/model/field-problem.ts";
import { systemTenant } from "../../core/model/internal-names.ts";
import type { TaskRecord } from "../../core/model/record.ts";
import type { DispatchPorts } from "../../core/ports/steps.ts";
import type { TenantList } from "../../core/schedules/ports.ts";
import { internalTypes } from "../../core/task/internal-types.ts";
import { isForAll } from "../acts/act.ts";
import { bodyAs } from "./act-handlers.ts";
import { type ApiPorts, type HandlersOf, identify } from "./api.ts";
import type { ApiResponse, Call } from "./call.ts";
import { filterFields, filterOf } from "./dead-letters.ts";

/** Fields that select what an operation acts on. */
export const selectionFields = <Filter extends z.ZodType>(filter: Filter) => ({
  task_ids: z.array(z.uuid()).min(1).max(100).optional(),
  filter: filter.optional(),
  dry_run: z.boolean().default(false),
});

/** The rate of an operation that starts tasks. */
export const perSecond = z.int().min(1).max(100).optional();

/** Requires exactly one of `task_ids` and `filter`. */
export const withOneSelection = <Schema extends z.ZodType<{ task_ids?: unknown; filter?: unknown }>>(schema: Schema) =>
  schema.refine((body) => (body.task_ids === undefined) !== (body.filter === undefined), {
    message: "expected either task_ids or filter",
  });

const letterFields = selectionFields(z.strictObject(filterFields));

/** Body of a discard. */
export const discardSchema = withOneSelection(z.strictObject(letterFields));
/** Body of a replay. */
export const replaySchema = withOneSelection(z.strictObject({ ...letterFields, per_second: perSecond }));

/** A request for an operation. */
export interface Selection<Filter> {
  task_ids?: string[] | undefined;
  filter?: Filter | undefined;
  dry_run: boolean;
  per_second?: number | undefined;
  now?: boolean | undefined;
}

export interface AllTenantsPorts {
  tenants: TenantList;
}

/** Finds what an operation acts on in a tenant. */
export interface Matcher<Filter> {
  /** @param sum What was read in the tenants before. */
  byFilter(tenantId: string, filter: Filter, sum: ReadSoFar): Promise<TaskRecord[]>;
  byIds(tenantId: string, taskIds: readonly string[]): Promise<TaskRecord[]>;
}

/** Handlers that replay and discard dead letters. */
export const operationStarts = (ports: StartPorts & ApiPorts & AllTenantsPorts) =>
  ({
    replayDeadLetters: (call) => operationAnswer(ports, call, "replay", replaySchema, lettersFor(ports, "replay")),
    discardDeadLetters: (call) => operationAnswer(ports, call, "discard", discardSchema, lettersFor(ports, "discard")),
  }) satisfies Partial<HandlersOf<"control">>;

/** Answers a request for an operation. */
export async function operationAnswer<Filter>(
  ports: StartPorts & ApiPorts & AllTenantsPorts,
  call: Call,
  action: OperationAction,
  schema: z.ZodType<Selection<Filter>>,
  matcher: Matcher<Filter>,
): Promise<ApiResponse> {
  const caller = identify(call, "operator", "all");
  const forAll = isForAll(caller);
  const selection = await bodyAs(call, schema);
  const { matched, missed } = forAll
    ? await matchInAll(ports, matcher, selection)
    : await matchIn(matcher, caller.tenantId, selection, { read: 0 });
  const withCallback = matched.filter(({ callback }) => callback !== undefined).length;
  const dryRun = {
    matched: matched.length,
    ...(forAll && { by_tenant: countByTenant(matched) }),
    // A discard ends nothing.
    ...(withCallback > 0 && action !== "discard" && { with_callback: withCallback }),
  };
  if (selection.dry_run) return call.unstored(dryRun);
  const identity = forAll ? { ...caller, tenantId: systemTenant } : caller;
  const correlationId = call.get("correlationId");
  const operationId = await startOperation(ports, {
    action,
    ...onTasks(identity.tenantId, action, matched),
    missed,
    perSecond: selection.per_second,
    now: selection.now,
    identity,
    correlationId,
    traceparent: call.get("traceparent"),
  });
  ports.log.info(`operation accepted: ${action}`, {
    operation_id: operationId,
    tenant_id: caller.tenantId,
    requested_by: identity.principal,
    correlation_id: correlationId,
    matched: matched.length,
  });
  await call.get("addTarget")?.({ operation_id: operationId, matched: String(matched.length) });
  call.header("content-location", `/operations/${operationId}`);
  call.header("retry-after", "1");
  return call.unstored({ operation_id: operationId, matched: matched.length }, 202);
}

interface Match {
  matched: TaskRecord[];
  /** Number of given ids that do not match. */
  missed: number;
}

async function matchIn<Filter>(
  matcher: Matcher<Filter>,
  tenantId: string,
  { task_ids, filter }: Selection<Filter>,
  sum: ReadSoFar,
): Promise<Match> {
  // The schema requires one of the two.
  if (filter !== undefined) return { matched: await matcher.byFilter(tenantId, filter, sum), missed: 0 };
  const ids = [...new Set(task_ids)];
  const matched = await matcher.byIds(tenantId, ids);
  return { matched, missed: ids.length - matched.length };
}

/**
 * The most tenants that an operation on all of them looks at: each costs requests to the table while the client waits.
 */
const mostTenants = 1_000;

/**
 * The most records that an operation on all tenants looks for by id: each id in each tenant, as a task's key has its
 * tenant.
 */
const mostLookUps = 10_000;

/** @throws Problem `invalid_input` when the deployment has too many tenants, or the tenants have too many tasks */
async function matchInAll<Filter>(
  { tenants }: AllTenantsPorts,
  matcher: Matcher<Filter>,
  selection: Selection<Filter>,
): Promise<Match> {
  const matched: TaskRecord[] = [];
  const sum: ReadSoFar = { read: 0 };
  const ids = [...new Set(selection.task_ids)];
  let seen = 0;
  for await (const group of groupsOf(tenants)) {
    seen += group.length;
    if (seen > mostTenants || seen * ids.length > mostLookUps) throw fieldProblem("tenant", tooManyTenants);
    const found = await ofEach(group, (tenantId) => matchIn(matcher, tenantId, selection, sum));
    matched.push(...found.flatMap((one) => one.matched));
  }
  return { matched, missed: Math.max(0, ids.length - matched.length) };
}

const tooManyTenants = "the deployment has too many tenants for one operation; name one tenant at a time";

function countByTenant(matched: readonly TaskRecord[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { tenant_id } of matched) counts[tenant_id] = (counts[tenant_id] ?? 0) + 1;
  return counts;
}

const lettersFor = (ports: DispatchPorts, action: "replay" | "discard"): Matcher<Parameters<typeof filterOf>[0]> => ({
  byFilter: async (tenantId, fields, sum) => {
    const filter = filterOf(fields);
    const found = await matchByFilter(ports, tenantId, filter, sum);
    return found.filter((record) => isSelected(action, filter, record));
  },
  byIds: (tenantId, ids) => matchByIds(ports, tenantId, ids),
});

/**
 * True when an operation selects the record. A failed operation is a dead letter, too. A replay by filter selects it
 * only if the filter names its type, so that a replay of everything does not repeat an old discard.
 */
const isSelected = (action: "replay" | "discard", filter: DeadLetterFilter, record: TaskRecord): boolean =>
  action === "discard" || filter.type !== undefined || !internalTypes.has(record.type);
