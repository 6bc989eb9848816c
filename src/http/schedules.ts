import * as z from "zod";
import { chainTenants, type ReadOfTenant } from "../core/control/all-tenants.ts";
import { AnswerRoom } from "../core/model/answer-room.ts";
import { expecting } from "../core/model/expected.ts";
import type { Identity } from "../core/model/identity.ts";
import { parseInput } from "../core/model/invalid.ts";
import { iso } from "../core/model/record.ts";
import type { Clock } from "../core/ports/tasks.ts";
import { findSchedule, noSuchSchedule } from "../core/schedules/align.ts";
import { nextTimes } from "../core/schedules/calendar.ts";
import { changeSchema, definitionSchema, previewSchema } from "../core/schedules/definition.ts";
import {
  changeSchedule,
  createSchedule,
  deleteSchedule,
  runSchedule,
  type ScheduleWritePorts,
} from "../core/schedules/manage-schedules.ts";
import type { Schedules, TenantList } from "../core/schedules/ports.ts";
import { type ScheduleKey, type ScheduleRecord, scheduleView } from "../core/schedules/schedule-record.ts";
import type { SubmitPorts } from "../core/submit/submit-ports.ts";
import { type ApiPorts, type Call, type HandlersOf, identify, isForAll } from "./api.ts";
import { jsonBody } from "./body.ts";
import { readNothing } from "./control.ts";
import type { Cursors } from "./cursor.ts";
import { isUuid } from "./find-task.ts";
import { pageParameters, queryOf } from "./query.ts";
import { acceptedAnswer } from "./submit.ts";
import { idempotencyKeyOf } from "./submit-ports.ts";

export interface ScheduleReadPorts {
  clock: Clock;
  schedules: Schedules;
  tenants: TenantList;
  cursors: Cursors;
}

/** Default number of times in a response. */
const defaultCount = 5;

/** Query of `GET /schedules`. */
export const scheduleListSchema = z.object(pageParameters);
/** Query of requests for a rule's next times. */
export const countSchema = z.object({
  count: z
    .string()
    .regex(/^\d{1,3}$/, "expected a whole number from 1 to 100")
    .transform(Number)
    .pipe(z.int().min(1).max(100))
    .optional(),
});

/** Handlers that read schedules, and the next times of rules. */
export const scheduleReads = (ports: ScheduleReadPorts) =>
  ({
    listSchedules: (call) => listAnswer(ports, call),
    readSchedule: async (call) => {
      const schedule = await findSchedule(ports, keyOf(call));
      call.header("cache-control", "no-store");
      return call.json(scheduleView(schedule, ports.clock.now()));
    },
    listNextTimes: async (call) => {
      const key = keyOf(call);
      const { count = defaultCount } = queryOf(call, countSchema);
      const schedule = await findSchedule(ports, key);
      const times = schedule.enabled ? nextTimes(schedule, schedule.created_at, ports.clock.now(), count) : [];
      return nextAnswer(call, times);
    },
    previewSchedule: async (call) => {
      identify(call, "operator");
      const query = queryOf(call, countSchema);
      const read = async () => parseInput(previewSchema, await jsonBody(call));
      const { rule, from, count = query.count ?? defaultCount } = await expecting(previewSchema, read);
      const start = from ?? iso(ports.clock.now());
      return nextAnswer(call, nextTimes(rule, start, Date.parse(start), count));
    },
  }) satisfies Partial<HandlersOf<"status">>;

/** Handlers that change schedules, and that submit a schedule's task on request. */
export const scheduleWrites = (ports: ScheduleWritePorts & SubmitPorts & ApiPorts) =>
  ({
    createSchedule: async (call) => {
      const identity = identify(call, "operator");
      const create = async () => createSchedule(ports, identity, await jsonBody(call));
      const { schedule, created } = await expecting(definitionSchema, create);
      if (created) await ports.noteTenant?.(identity.tenantId);
      logWrite(ports, call, identity, {
        schedule_id: schedule.schedule_id,
        outcome: created ? "created" : "already exists",
      });
      call.header("location", `/schedules/${schedule.schedule_id}`);
      return call.json(scheduleView(schedule, ports.clock.now()), created ? 201 : 200);
    },
    changeSchedule: async (call) => {
      const key = keyOf(call);
      const schedule = await expecting(changeSchema, async () => changeSchedule(ports, key, await jsonBody(call)));
      logWrite(ports, call, identify(call), { ...key, outcome: "changed" });
      return call.json(scheduleView(schedule, ports.clock.now()));
    },
    deleteSchedule: async (call) => {
      const key = keyOf(call);
      await deleteSchedule(ports, key);
      logWrite(ports, call, identify(call), { ...key, outcome: "deleted" });
      return call.body(null, 204);
    },
    runSchedule: async (call) => {
      const key = keyOf(call);
      await readNothing(call);
      const accepted = await runSchedule(ports, key, {
        identity: identify(call),
        idempotencyKey: idempotencyKeyOf(call),
        correlationId: call.get("correlationId"),
        traceparent: call.get("traceparent"),
      });
      return acceptedAnswer(ports, call, accepted);
    },
  }) satisfies Partial<HandlersOf<"control">>;

/** Logs who created, changed or deleted a schedule. */
function logWrite(ports: ApiPorts, call: Call, identity: Identity, fields: Record<string, unknown>): void {
  const { tenantId: tenant_id, principal: requested_by } = identity;
  ports.log.info("schedule written by a client", {
    tenant_id,
    requested_by,
    correlation_id: call.get("correlationId"),
    ...fields,
  });
}

/**
 * Returns the key of the schedule in the path, in the caller's tenant.
 * @throws Problem `unauthenticated`, `forbidden`, `not_found`
 */
function keyOf(call: Call): ScheduleKey {
  const { tenantId } = identify(call, "operator");
  const scheduleId = call.req.param("schedule_id") ?? "";
  if (!isUuid(scheduleId)) throw noSuchSchedule();
  return { tenant_id: tenantId, schedule_id: scheduleId };
}

async function listAnswer(ports: ScheduleReadPorts, call: Call): Promise<Response> {
  const identity = identify(call, "operator", "all");
  const { limit, cursor } = queryOf(call, scheduleListSchema);
  const scope = { identity, list: "schedules", filters: {} };
  const from = cursor === undefined ? undefined : ports.cursors.read(scope, cursor);
  const now = ports.clock.now();
  const room = new AnswerRoom();
  const forAll = isForAll(identity);
  const viewed = (schedule: ScheduleRecord) => ({
    ...scheduleView(schedule, now),
    ...(forAll && { tenant_id: schedule.tenant_id }),
  });
  const read: ReadOfTenant<ScheduleRecord> = async (tenantId, one) => {
    const found = await ports.schedules.list(tenantId, one);
    const tooMany = found.items.findIndex((schedule) => !room.takes(viewed(schedule)));
    if (tooMany < 0) return found;
    const items = found.items.slice(0, tooMany);
    return { items, next: items.at(-1)?.schedule_id ?? one.from ?? beforeAllIds };
  };
  const page = await (forAll ? chainTenants(ports, read, { limit, from }) : read(identity.tenantId, { limit, from }));
  call.header("cache-control", "no-store");
  return call.json({
    schedules: page.items.filter(({ state }) => state === "ready").map(viewed),
    next_cursor: page.next === undefined ? null : ports.cursors.write(scope, page.next),
  });
}

/** Sorts before every id. */
const beforeAllIds = "-";

function nextAnswer(call: Call, times: readonly number[]): Response {
  call.header("cache-control", "no-store");
  return call.json({ next: times.map(iso) });
}
