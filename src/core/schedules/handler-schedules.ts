import { inShort, isPromise } from "../../util/foreign-value.ts";
import { asTaskError } from "../extras/children/child.ts";
import { Misuse, PermanentError, RetryAfter } from "../model/errors.ts";
import { Problem } from "../model/problem.ts";
import type { TaskRecord } from "../model/record.ts";
import type { Identity } from "../model/words.ts";
import type { Log } from "../ports/tasks.ts";
import { anything, type ChecksOf, optionsFault } from "../task/check-options.ts";
import type { HandlerSchedule, HandlerSchedules, NamedSchedule } from "../task/handler-submit.ts";
import { jsonText } from "../task/json-value.ts";
import { camelCased, timeText } from "./definition.ts";
import { deleteSchedule, putSchedule, type ScheduleWritePorts } from "./manage-schedules.ts";
import { scheduleIdOf } from "./schedule-record.ts";

export interface HandlerSchedulePorts extends ScheduleWritePorts {
  log: Log;
}

/** The values of options are checked as those of a client's schedule. */
const checks: ChecksOf<HandlerSchedule | NamedSchedule> = {
  ...{ cron: anything, everySeconds: anything, timezone: anything, startsAt: anything, endsAt: anything },
  ...{ overlap: anything, enabled: anything, alarm: anything, type: anything, input: anything },
  ...{ priority: anything, maxAttempts: anything, tags: anything },
};

/**
 * Changes the schedules of a task's tenant for its handler, as an operator would. A call that an attempt makes again
 * changes nothing.
 */
export const handlerSchedules = (ports: HandlerSchedulePorts): HandlerSchedules => ({
  put: (task, name, schedule) =>
    forTask(async () => {
      const { schedule: put, created } = await putSchedule(ports, ownerOf(task), named(name), bodyOf(schedule));
      logWrite(ports, task, { schedule_id: put.schedule_id, outcome: created ? "created" : "put" });
      return put.schedule_id;
    }),
  delete: (task, name) =>
    forTask(async () => {
      const key = { tenant_id: task.tenant_id, schedule_id: scheduleIdOf(task.tenant_id, named(name)) };
      try {
        await deleteSchedule(ports, key);
        logWrite(ports, task, { schedule_id: key.schedule_id, outcome: "deleted" });
      } catch (error) {
        // An earlier attempt may have deleted it.
        if (!(error instanceof Problem) || error.code !== "not_found") throw error;
      }
    }),
});

/** The tasks of a schedule belong to whom the task belongs whose handler made it. */
const ownerOf = ({ tenant_id, requested_by }: TaskRecord): Identity => ({
  tenantId: tenant_id,
  principal: requested_by,
  role: "operator",
});

/** @throws PermanentError, or RetryAfter where others change the same schedule, in place of a Problem */
async function forTask<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (error.code === "conflict") throw new RetryAfter(1, error.detail, { cause: error });
    const { message } = asTaskError(error);
    throw new PermanentError(camelCased(message), { cause: error });
  }
}

const refuse = (fault: string): never => {
  throw new PermanentError(fault, { cause: new Misuse(fault) });
};

/** @throws PermanentError */
const named = (name: unknown): string =>
  typeof name === "string" ? name : refuse(`a schedule's name must be a text, got ${inShort(name)}`);

/** The body of a client's request for a schedule. @throws PermanentError */
function bodyOf(schedule: HandlerSchedule | NamedSchedule): object {
  const fault = optionsFault(schedule, checks, { needed: ["type"] });
  if (fault !== undefined) refuse(`task.putSchedule: ${fault}`);
  const { type, input, everySeconds, startsAt, endsAt, priority, maxAttempts, tags, ...same } = schedule;
  const typeName: unknown = typeof type === "string" ? type : (type as { name?: unknown } | null)?.name;
  if (typeof typeName !== "string") refuse("task.putSchedule: type must be a task type, or the name of one");
  if (isPromise(input)) refuse("task.putSchedule: input is a Promise: await it");
  return {
    ...same,
    every_seconds: everySeconds,
    starts_at: timeText(startsAt),
    ends_at: timeText(endsAt),
    task: {
      ...{ type: typeName, priority, max_attempts: maxAttempts, tags },
      ...(input !== undefined && { input: ownInput(input) }),
    },
  };
}

function ownInput(input: unknown): unknown {
  const { text } = jsonText(input, "task.putSchedule: the input", "input");
  return text === undefined ? input : JSON.parse(text);
}

const logWrite = ({ log }: HandlerSchedulePorts, task: TaskRecord, fields: Record<string, unknown>): void =>
  log.info("schedule written by a task", {
    ...{ tenant_id: task.tenant_id, task_id: task.task_id, requested_by: task.requested_by },
    correlation_id: task.correlation_id,
    ...fields,
  });
