import * as z from "zod";
import { chainTenants, type PageQuery, type ReadOfTenant } from "../../core/control/all-tenants.ts";
import { AnswerRoom } from "../../core/control/list.ts";
import { expecting } from "../../core/model/expected.ts";
import { iso } from "../../core/model/record.ts";
import { type Identity, seesInputs } from "../../core/model/words.ts";
import type { SubmitPorts } from "../../core/pipeline/submit/submit-ports.ts";
import type { Clock, Page } from "../../core/ports/tasks.ts";
import { findSchedule } from "../../core/schedules/align.ts";
import { nextTimes } from "../../core/schedules/calendar.ts";
import { definitionSchema, previewSchema } from "../../core/schedules/definition.ts";
import {
  type AppScheduleReadPorts,
  appScheduleViews,
  findAppSchedule,
  listAppSchedules,
  nextAppTimes,
  runAppSchedule,
} from "../../core/schedules/manage-app-schedules.ts";
import { createSchedule, runSchedule, type ScheduleWritePorts } from "../../core/schedules/manage-schedules.ts";
import type { Schedules, TenantList } from "../../core/schedules/ports.ts";
import {
  type ScheduleKey,
  type ScheduleRecord,
  type ScheduleView,
  scheduleView,
} from "../../core/schedules/schedule-record.ts";
import { isForAll } from "../acts/act.ts";
import { scheduleIn } from "../acts/schedule.ts";
import { logWrite } from "../acts/schedule-acts.ts";
import { askedOf, bodyAs, readNothing } from "./act-handlers.ts";
import { type ApiPorts, type HandlersOf, identify } from "./api.ts";
import { jsonBody } from "./body.ts";
import type { ApiResponse, Call } from "./call.ts";
import { type Cursors, pageAnswer } from "./cursor.ts";
import { numberUpTo, pageParameters, queryOf } from "./query.ts";
import { acceptedAnswer } from "./submit.ts";
import { idempotencyKeyOf } from "./submit-ports.ts";

export interface ScheduleReadPorts extends AppScheduleReadPorts {
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
export const countSchema = z.object({ count: numberUpTo(100).optional() });

/** Handlers that read schedules, and the next times of rules. */
export const scheduleReads = (ports: ScheduleReadPorts) =>
  ({
    listSchedules: async (call) => {
      const identity = identify(call, "viewer", "all");
      const { limit, cursor } = queryOf(call, scheduleListSchema);
      return pageAnswer(ports, call, { identity, list: "schedules", cursor }, async (from = startOfApp) => {
        const room = new AnswerRoom();
        const ofApp = from.startsWith(startOfApp) ? await appPage(ports, identity, room, limit, from) : noViews;
        const left = limit - ofApp.items.length;
        const hasMore = ofApp.next !== undefined || left === 0;
        const start = from.startsWith(startOfApp) ? undefined : from;
        const stored = hasMore ? noViews : await storedPage(ports, identity, room, { limit: left, from: start });
        // Nothing of the app is behind this place: the list goes on with the schedules of clients.
        const next = ofApp.next ?? (left === 0 ? `${startOfApp}~` : stored.next);
        return { items: { schedules: [...ofApp.items, ...stored.items].map(forReader(identity)) }, next };
      });
    },
    readSchedule: async (call) => {
      const view = await viewOf(ports, keyOf(ports, call));
      return call.unstored(forReader(identify(call, "viewer", "all"))(view));
    },
    listNextTimes: async (call) => {
      const key = keyOf(ports, call);
      const { count = defaultCount } = queryOf(call, countSchema);
      const app = findAppSchedule(ports, key);
      if (app !== undefined) return nextAnswer(call, await nextAppTimes(ports, app, key.tenant_id, count));
      const schedule = await findSchedule(ports, key);
      const times = schedule.enabled ? nextTimes(schedule, schedule.created_at, ports.clock.now(), count) : [];
      return nextAnswer(call, times);
    },
    previewSchedule: async (call) => {
      identify(call, "viewer");
      const query = queryOf(call, countSchema);
      const body = await bodyAs(call, previewSchema);
      const { rule, from, created_at, count = query.count ?? defaultCount } = body;
      const start = from ?? iso(ports.clock.now());
      return nextAnswer(call, nextTimes(rule, created_at ?? start, Date.parse(start), count));
    },
  }) satisfies Partial<HandlersOf<"status">>;

/** Not every viewer reads inputs. */
const forReader =
  (identity: Identity) =>
  (view: ScheduleView): ScheduleView =>
    seesInputs(identity) ? view : { ...view, task: { ...view.task, input: null } };

/** A schedule of the app, or a schedule that a client made. */
async function viewOf(ports: ScheduleReadPorts, key: ScheduleKey): Promise<ScheduleView> {
  const app = findAppSchedule(ports, key);
  const [view] = app === undefined ? [] : await appScheduleViews(ports, key.tenant_id, [app]);
  return view ?? scheduleView(await findSchedule(ports, key), ports.clock.now());
}

type WritePorts = ScheduleWritePorts & SubmitPorts & AppScheduleReadPorts & ApiPorts;

/** Handlers that create a schedule, and that submit a schedule's task on request. */
export const scheduleStarts = (ports: WritePorts) =>
  ({
    createSchedule: async (call) => {
      const asked = askedOf(call, { role: "operator" });
      const create = async () => createSchedule(ports, asked.by, await jsonBody(call));
      const { schedule, created } = await expecting(definitionSchema, create);
      const { schedule_id } = schedule;
      if (created) await ports.noteTenant?.(asked.by.tenantId);
      logWrite(ports, asked, { schedule_id, outcome: created ? "created" : "already exists" });
      call.header("location", `/schedules/${schedule_id}`);
      return call.json(scheduleView(schedule, ports.clock.now()), created ? 201 : 200);
    },
    runSchedule: async (call) => {
      const asked = askedOf(call, { role: "operator" });
      const key = scheduleIn(ports, asked);
      await readNothing(call);
      const app = findAppSchedule(ports, key);
      const { by: identity, correlationId, traceparent } = asked;
      const given = { identity, idempotencyKey: idempotencyKeyOf(call), correlationId, traceparent };
      const accepted = await (app === undefined ? runSchedule(ports, key, given) : runAppSchedule(ports, app, given));
      return acceptedAnswer(ports, call, accepted);
    },
  }) satisfies Partial<HandlersOf<"control">>;

/** @throws Problem `unauthenticated`, `forbidden`, `not_found` */
const keyOf = (ports: ScheduleReadPorts, call: Call): ScheduleKey =>
  scheduleIn(ports, askedOf(call, { role: "viewer", reach: "all" }));

/**
 * A place among the schedules of the app, which come first: it, and the id behind which the list goes on. No id has a
 * space.
 */
const startOfApp = "code ";

const noViews: Page<ScheduleView> = { items: [], next: undefined };

/** The schedules of the app. */
async function appPage(
  ports: ScheduleReadPorts,
  identity: Identity,
  room: AnswerRoom,
  limit: number,
  from: string,
): Promise<Page<ScheduleView>> {
  const forAll = isForAll(identity);
  const found = listAppSchedules(ports, identity.tenantId, from.slice(startOfApp.length));
  const page = found.slice(0, limit);
  const views = (await appScheduleViews(ports, identity.tenantId, page)).map((view, index) =>
    forAll ? { ...view, tenant_id: page[index]?.tenant_id ?? identity.tenantId } : view,
  );
  const tooMany = views.findIndex((view) => !room.takes(view));
  const items = tooMany < 0 ? views : views.slice(0, tooMany);
  const last = items.at(-1)?.schedule_id;
  return { items, next: items.length < found.length && last !== undefined ? startOfApp + last : undefined };
}

/** The schedules that clients made. */
async function storedPage(
  ports: ScheduleReadPorts,
  identity: Identity,
  room: AnswerRoom,
  one: PageQuery,
): Promise<Page<ScheduleView>> {
  const now = ports.clock.now();
  const forAll = isForAll(identity);
  const viewed = (schedule: ScheduleRecord) => ({
    ...scheduleView(schedule, now),
    ...(forAll && { tenant_id: schedule.tenant_id }),
  });
  const read: ReadOfTenant<ScheduleRecord> = async (tenantId, part) => {
    const found = await ports.schedules.list(tenantId, part);
    const tooMany = found.items.findIndex((schedule) => !room.takes(viewed(schedule)));
    if (tooMany < 0) return found;
    const items = found.items.slice(0, tooMany);
    return { items, next: items.at(-1)?.schedule_id ?? part.from ?? beforeAllIds };
  };
  const page = await (forAll ? chainTenants(ports, read, one) : read(identity.tenantId, one));
  return { items: page.items.filter(({ state }) => state === "ready").map(viewed), next: page.next };
}

/** Sorts before every id. */
const beforeAllIds = "-";

const nextAnswer = (call: Call, times: readonly number[]): ApiResponse => call.unstored({ next: times.map(iso) });
