import * as z from "zod";
import { type DeadLetterFilter, matchByFilter, matchByIds } from "../core/control/find-letters.ts";
import type { OperationAction } from "../core/control/operation-state.ts";
import { startOperation } from "../core/control/start-operation.ts";
import { expecting } from "../core/model/expected.ts";
import { parseInput } from "../core/model/invalid.ts";
import type { TaskRecord } from "../core/model/record.ts";
import type { DispatchPorts } from "../core/ports/step-ports.ts";
import { internalTypes } from "../core/task/internal-types.ts";
import { type ApiPorts, type Call, type HandlersOf, identify } from "./api.ts";
import { jsonBody } from "./body.ts";
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
}

/** Finds what an operation of a tenant acts on. */
export interface Matcher<Filter> {
  byFilter(tenantId: string, filter: Filter): Promise<TaskRecord[]>;
  byIds(tenantId: string, taskIds: readonly string[]): Promise<TaskRecord[]>;
}

/** Handlers that replay and discard dead letters. */
export const operationStarts = (ports: DispatchPorts & ApiPorts) =>
  ({
    replayDeadLetters: (call) => operationAnswer(ports, call, "replay", replaySchema, lettersFor(ports, "replay")),
    discardDeadLetters: (call) => operationAnswer(ports, call, "discard", discardSchema, lettersFor(ports, "discard")),
  }) satisfies Partial<HandlersOf<"control">>;

/** Answers a request for an operation. */
export async function operationAnswer<Filter>(
  ports: DispatchPorts & ApiPorts,
  call: Call,
  action: OperationAction,
  schema: z.ZodType<Selection<Filter>>,
  matcher: Matcher<Filter>,
): Promise<Response> {
  const identity = identify(call, "operator");
  const selection = await expecting(schema, async () => parseInput(schema, await jsonBody(call)));
  const { matched, missed } = await match(matcher, identity.tenantId, selection);
  call.header("cache-control", "no-store");
  if (selection.dry_run) return call.json({ matched: matched.length });
  const correlationId = call.get("correlationId");
  const operationId = await startOperation(ports, {
    action,
    matched,
    missed,
    perSecond: selection.per_second,
    identity,
    correlationId,
    traceparent: call.get("traceparent"),
  });
  ports.log.info(`operation accepted: ${action}`, {
    operation_id: operationId,
    tenant_id: identity.tenantId,
    requested_by: identity.principal,
    correlation_id: correlationId,
    matched: matched.length,
  });
  call.header("content-location", `/operations/${operationId}`);
  call.header("retry-after", "1");
  return call.json({ operation_id: operationId, matched: matched.length }, 202);
}

interface Match {
  matched: TaskRecord[];
  /** Number of given ids that do not match. */
  missed: number;
}

async function match<Filter>(
  matcher: Matcher<Filter>,
  tenantId: string,
  { task_ids, filter }: Selection<Filter>,
): Promise<Match> {
  // The schema requires one of the two.
  if (filter !== undefined) return { matched: await matcher.byFilter(tenantId, filter), missed: 0 };
  const ids = [...new Set(task_ids)];
  const matched = await matcher.byIds(tenantId, ids);
  return { matched, missed: ids.length - matched.length };
}

const lettersFor = (ports: DispatchPorts, action: "replay" | "discard"): Matcher<Parameters<typeof filterOf>[0]> => ({
  byFilter: async (tenantId, fields) => {
    const filter = filterOf(fields);
    const found = await matchByFilter(ports, tenantId, filter);
    return found.filter((record) => isSelected(action, filter, record));
  },
  byIds: (tenantId, ids) => matchByIds(ports, tenantId, ids),
});

/**
 * True when an operation selects the record. A failed operation is a dead letter, too. A replay by filter selects it only if
 * the filter names its type, so that a replay of everything does not repeat an old discard.
 */
const isSelected = (action: "replay" | "discard", filter: DeadLetterFilter, record: TaskRecord): boolean =>
  action === "discard" || filter.type !== undefined || !internalTypes.has(record.type);
