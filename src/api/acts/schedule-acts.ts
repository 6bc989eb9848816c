import { fieldProblem } from "../../core/model/field-problem.ts";
import type { SubmitPorts } from "../../core/pipeline/submit/submit-ports.ts";
import type { Log } from "../../core/ports/tasks.ts";
import { noSuchSchedule } from "../../core/schedules/align.ts";
import { changeSchema, namedSchema } from "../../core/schedules/definition.ts";
import {
  type AppScheduleReadPorts,
  appScheduleViews,
  definedInCode,
  findAppSchedule,
  setAppSchedulePaused,
} from "../../core/schedules/manage-app-schedules.ts";
import {
  changeSchedule,
  deleteSchedule,
  putSchedule,
  type ScheduleWritePorts,
} from "../../core/schedules/manage-schedules.ts";
import { type ScheduleKey, type ScheduleRecord, scheduleView } from "../../core/schedules/schedule-record.ts";
import { type Answer, type Asked, on, type TextsOf } from "./act.ts";
import { scheduleIn } from "./schedule.ts";

type Ports = ScheduleWritePorts & AppScheduleReadPorts & { log: Log } & Pick<SubmitPorts, "noteTenant">;

export const acts = () => {
  const onSchedule = on<Ports, ScheduleKey>({ role: "operator", find: scheduleIn });
  const onStored = on<Ports, ScheduleKey>({ role: "operator", find: storedIn });
  return {
    changeSchedule: onStored({
      body: changeSchema,
      isCheckedByRun: true,
      run: async (ports, key, body, asked) => {
        const schedule = await changeSchedule(ports, key, body, asked.by.principal);
        logWrite(ports, asked, { ...key, outcome: "changed" });
        return shownSchedule(ports, schedule);
      },
    }),
    putSchedule: on<Ports, string>({ role: "operator", find: nameIn })({
      body: namedSchema,
      run: async (ports, name, body, asked) => {
        mustBeNamed(name, body);
        const { schedule, created } = await putSchedule(ports, asked.by, name, body);
        const { schedule_id } = schedule;
        if (created) await ports.noteTenant?.(asked.by.tenantId);
        logWrite(ports, asked, { schedule_id, outcome: created ? "created" : "replaced" });
        const headers = { location: `/schedules/${schedule_id}` };
        return { ...shownSchedule(ports, schedule), status: created ? 201 : 200, headers };
      },
    }),
    deleteSchedule: onStored({
      run: async (ports, key, _, asked) => {
        await deleteSchedule(ports, key);
        logWrite(ports, asked, { ...key, outcome: "deleted" });
        return {};
      },
    }),
    pauseSchedule: onSchedule({ reach: "all", run: (ports, key, _, asked) => setPaused(ports, key, asked, true) }),
    resumeSchedule: onSchedule({ reach: "all", run: (ports, key, _, asked) => setPaused(ports, key, asked, false) }),
  };
};

/** @throws Problem `not_found` for an id: a schedule is made by its name */
function nameIn(_: unknown, { params: { schedule_id = "" } }: Asked): string {
  if (schedule_id[0] !== "~") throw noSuchSchedule();
  return schedule_id.slice(1);
}

/** @throws Problem `invalid_input` for a body with another name than the path's */
function mustBeNamed(name: string, body: { name?: string | undefined }): void {
  if (body.name === undefined || body.name === name) return;
  throw fieldProblem("name", `expected the name in the path, ${JSON.stringify(name)}, or none`);
}

/** Only the app's code changes its schedules. @throws Problem `not_found`, `defined_in_code` */
function storedIn(ports: Ports, asked: Asked): ScheduleKey {
  const key = scheduleIn(ports, asked);
  if (findAppSchedule(ports, key) !== undefined) throw definedInCode();
  return key;
}

const shownSchedule = ({ clock }: Ports, schedule: ScheduleRecord): Answer => ({
  json: scheduleView(schedule, clock.now()),
  headers: {},
});

/** Pauses or resumes a schedule. An admin may do so for all tenants, where the schedule is for each. */
async function setPaused(ports: Ports, key: ScheduleKey, asked: Asked, paused: boolean): Promise<Answer> {
  const app = findAppSchedule(ports, key);
  if (app !== undefined) await setAppSchedulePaused(ports, app, asked.by, paused);
  const answer =
    app === undefined
      ? shownSchedule(ports, await changeSchedule(ports, key, { enabled: !paused }, asked.by.principal))
      : { json: (await appScheduleViews(ports, key.tenant_id, [app]))[0], headers: {} };
  logWrite(ports, asked, { ...key, outcome: paused ? "paused" : "resumed" });
  return answer;
}

/** Logs who created, changed or deleted a schedule. */
export function logWrite({ log }: { log: Log }, { by, correlationId }: Asked, fields: Record<string, unknown>): void {
  log.info("schedule written by a client", {
    tenant_id: by.tenantId,
    requested_by: by.principal,
    correlation_id: correlationId,
    ...fields,
  });
}

export const texts: TextsOf<ReturnType<typeof acts>> = {
  changeSchedule: {
    route: "PATCH /schedules/{schedule_id}",
    summary: "Change a schedule",
    description:
      "Replaces the given fields. A new `cron` removes `every_seconds`, and the other way round. `defined_in_code`: only the app's code changes its schedules.",
    body: "ScheduleChange",
    example: { enabled: false },
    answers: { 200: ["Schedule", "The changed schedule.", []] },
    problems: ["unknown_task_type", "conflict", "defined_in_code"],
  },
  putSchedule: {
    route: "PUT /schedules/{schedule_id}",
    summary: "Create or replace a schedule by its name",
    description:
      "The path has the name as `~name`. The schedule has this definition from then on, whatever it was before: a field that is absent has its default, so a paused schedule is resumed without `enabled: false`. " +
      "Nothing is written when it is the same. Of several requests at once, the last one counts. `defined_in_code`: the app's code has a schedule of this name.",
    body: "ScheduleDefinition",
    example: {
      cron: "0 2 * * *",
      timezone: "Europe/Berlin",
      task: { type: "report.daily", input: {}, priority: "low" },
    },
    answers: {
      200: ["Schedule", "The schedule was there, and has this definition now.", ["Location"]],
      201: ["Schedule", "The schedule is created.", ["Location"]],
    },
    problems: ["unknown_task_type", "conflict", "quota_exceeded", "defined_in_code"],
  },
  deleteSchedule: {
    route: "DELETE /schedules/{schedule_id}",
    summary: "Delete a schedule",
    answers: { 204: "The schedule is deleted, and submits nothing from now on." },
    problems: ["conflict", "defined_in_code"],
  },
  pauseSchedule: {
    route: "POST /schedules/{schedule_id}/pause",
    summary: "Pause a schedule",
    description:
      "The schedule submits nothing until it is resumed. Times of a paused schedule of the code are skipped and counted. A schedule for each tenant is paused for the caller's tenant, or with `tenant=*` for all, which requires the role admin.",
    answers: { 200: ["Schedule", "The schedule.", []] },
    problems: ["conflict"],
  },
  resumeSchedule: {
    route: "POST /schedules/{schedule_id}/resume",
    summary: "Resume a schedule",
    description: "Times before the resume stay skipped. `conflict`: the schedule is paused for all tenants.",
    answers: { 200: ["Schedule", "The schedule.", []] },
    problems: ["conflict"],
  },
};
