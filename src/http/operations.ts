import * as z from "zod";
import { type DeadLetterFilter, matchByFilter, matchByIds } from "../core/dead-letters/find-letters.ts";
import type { OperationAction } from "../core/dead-letters/operation-state.ts";
import { type StartPorts, startOperation } from "../core/dead-letters/start-operation.ts";
import { expecting } from "../core/expected.ts";
import { internalTypes } from "../core/internal-types.ts";
import { parseInput } from "../core/invalid.ts";
import type { Clock, Records } from "../core/ports.ts";
import type { TaskRecord } from "../core/record.ts";
import { type ApiPorts, type Call, type HandlersOf, identify } from "./api.ts";
import { jsonBody } from "./body.ts";
import { filterFields, filterOf } from "./dead-letters.ts";

const selectionFields = {
  task_ids: z.array(z.uuid()).min(1).max(100).optional(),
  filter: z.strictObject(filterFields).optional(),
  dry_run: z.boolean().default(false),
};

/** Requires exactly one of `task_ids` and `filter`. */
const withOneSelection = <Schema extends z.ZodType<{ task_ids?: unknown; filter?: unknown }>>(schema: Schema) =>
  schema.refine((body) => (body.task_ids === undefined) !== (body.filter === undefined), {
    message: "expected either task_ids or filter",
  });

/** Body of a discard. */
export const discardSchema = withOneSelection(z.strictObject(selectionFields));
/** Body of a replay. */
export const replaySchema = withOneSelection(
  z.strictObject({ ...selectionFields, per_second: z.int().min(1).max(100).optional() }),
);

interface Selection {
  task_ids?: string[] | undefined;
  filter?: z.output<typeof selectionFields.filter>;
  dry_run: boolean;
  per_second?: number | undefined;
}

/** Handlers that replay and discard dead letters. */
export const operationStarts = (ports: StartPorts & ApiPorts) =>
  ({
    replayDeadLetters: (call) => operationAnswer(ports, call, "replay"),
    discardDeadLetters: (call) => operationAnswer(ports, call, "discard"),
  }) satisfies Partial<HandlersOf<"control">>;

async function operationAnswer(ports: StartPorts & ApiPorts, call: Call, action: OperationAction): Promise<Response> {
  const identity = identify(call, "operator");
  const schema = action === "replay" ? replaySchema : discardSchema;
  const selection: Selection = await expecting(schema, async () => parseInput(schema, await jsonBody(call)));
  const { matched, missed } = await match(ports, identity.tenantId, action, selection);
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
  ports.log.info(`${action} of dead letters accepted`, {
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
  /** Number of given ids that are not dead letters. */
  missed: number;
}

async function match(
  ports: { records: Records; clock: Clock },
  tenantId: string,
  action: OperationAction,
  { task_ids, filter }: Selection,
): Promise<Match> {
  if (task_ids === undefined) {
    const fields = filterOf(filter ?? {});
    const found = await matchByFilter(ports, tenantId, fields);
    return { matched: found.filter((record) => isSelected(action, fields, record)), missed: 0 };
  }
  const ids = [...new Set(task_ids)];
  const matched = await matchByIds(ports, tenantId, ids);
  return { matched, missed: ids.length - matched.length };
}

/**
 * True when an operation selects the record. A failed operation is a dead letter, too. A replay by filter selects it only if
 * the filter names its type, so that a replay of everything does not repeat an old discard.
 */
const isSelected = (action: OperationAction, filter: DeadLetterFilter, record: TaskRecord): boolean =>
  action === "discard" || filter.type !== undefined || !internalTypes.has(record.type);
