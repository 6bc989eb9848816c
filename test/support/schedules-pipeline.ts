import { actOnEvent } from "../../src/core/extras/unique/act-on-event.ts";
import { PortUnavailable } from "../../src/core/model/errors.ts";
import { iso, type TaskRecord } from "../../src/core/model/record.ts";
import type { AppSchedule } from "../../src/core/schedules/app-schedule.ts";
import { fire } from "../../src/core/schedules/fire.ts";
import type { FireEventPorts } from "../../src/core/schedules/fire-event.ts";
import { handlerSchedules } from "../../src/core/schedules/handler-schedules.ts";
import { createSchedule } from "../../src/core/schedules/manage-schedules.ts";
import type { Rules, SchedulerRule } from "../../src/core/schedules/ports.ts";
import type { ScheduleKey, ScheduleRecord } from "../../src/core/schedules/schedule-record.ts";
import type { AppTrigger } from "../../src/core/schedules/trigger.ts";
import type { TaskType } from "../../src/core/task/task.ts";
import { MemoryRefusedEvents } from "../../src/memory/events.ts";
import { MemoryAppScheduleStates, MemoryFirings, MemoryRules, MemoryTenants } from "../../src/memory/schedules.ts";
import { operator } from "./identities.ts";
import { pipelineWith } from "./memory-pipeline.ts";
import { unique } from "./parts/unique.ts";
import type { Part } from "./pipeline-ports.ts";
import { echo } from "./task-types.ts";

/** Rules in memory, of a scheduler that can be down: before it has done what it was asked, or after. */
export class ShakyRules implements Rules {
  readonly rules: Rules & Pick<MemoryRules, "all">;
  down: "no" | "before" | "after" = "no";
  refuses: Error | undefined;

  constructor(rules: Rules & Pick<MemoryRules, "all"> = new MemoryRules()) {
    this.rules = rules;
  }

  all(): ReturnType<MemoryRules["all"]> {
    return this.rules.all();
  }

  async put(rule: SchedulerRule): Promise<void> {
    if (this.refuses !== undefined) throw this.refuses;
    await this.#shaky(() => this.rules.put(rule));
  }

  async delete(name: string): Promise<void> {
    await this.#shaky(() => this.rules.delete(name));
  }

  async #shaky(step: () => Promise<void>): Promise<void> {
    if (this.down !== "before") await step();
    if (this.down !== "no") throw new PortUnavailable("the scheduler");
  }
}

/** How long fire has, in seconds. */
const fireSeconds = 300;

/** A pipeline in memory with schedules, and a scheduler that a test fires. */
export function schedulesPipeline(
  types: readonly TaskType[] = [echo],
  apps: readonly AppSchedule[] = [],
  triggers: readonly AppTrigger[] = [],
  parts: readonly Part[] = [unique],
) {
  const pipeline = pipelineWith(...parts)(types);
  const { clock } = pipeline;
  const rules = new ShakyRules(pipeline.rules);
  const refusedEvents = new MemoryRefusedEvents();
  const actOnEventOf: FireEventPorts["actOnEvent"] = (...given) =>
    actOnEvent({ ...pipeline.ports, refusedEvents }, ...given);
  const ports = {
    ...pipeline.ports,
    actOnEvent: actOnEventOf,
    rules,
    tenants: new MemoryTenants(),
    firings: new MemoryFirings(),
    appStates: new MemoryAppScheduleStates(),
    appSchedules: new Map(apps.map((schedule) => [schedule.name, schedule])),
    triggers: new Map(triggers.map((trigger) => [trigger.name, trigger])),
    refusedEvents,
  };
  // The workers' handlers meet the same scheduler.
  pipeline.ports.handlerSchedules = handlerSchedules(ports);
  const task = { type: types[0]?.name ?? "", input: { value: 1 } };

  /** Creates a schedule that runs every hour, unless the body says otherwise. */
  const make = async (body: object = {}): Promise<ScheduleRecord> =>
    (await createSchedule(ports, operator, { name: "hourly", cron: "0 * * * *", task, ...body })).schedule;

  /** Fires a rule as it is in the scheduler, for a time. Default: now. */
  const fireRule = ({ schedule_id }: ScheduleKey, scheduledFor = iso(clock.now()), rule = ruleOf(schedule_id)) => {
    if (rule === undefined) throw new Error("the scheduler has no such rule");
    const firing = { ...rule.payload, scheduled_for: scheduledFor };
    return fire(ports, firing as Parameters<typeof fire>[1], clock.now() + fireSeconds * 1000);
  };

  let pending: ScheduleKey[] = [];

  /** Makes the checks that were asked for, a minute later; one that fails comes again. */
  const check = async (): Promise<void> => {
    pending.push(...ports.checks.takeAll());
    await clock.advance(60_000);
    const failed: ScheduleKey[] = [];
    for (const key of pending) {
      const firing = { kind: "rule_check", ...key } as const;
      await fire(ports, firing, clock.now() + fireSeconds * 1000).catch(() => failed.push(key));
    }
    pending = failed;
  };

  const ruleOf = (name: string): SchedulerRule | undefined => rules.rules.all().get(name);

  /** The schedule as it is stored. */
  const stored = async (key: ScheduleKey): Promise<ScheduleRecord> => {
    const schedule = await ports.schedules.get(key);
    if (schedule === undefined) throw new Error("there is no such schedule");
    return schedule;
  };

  /** The tasks of a schedule, oldest time first. */
  const tasksOf = ({ schedule_id }: Pick<ScheduleKey, "schedule_id">): TaskRecord[] =>
    ports.records
      .all()
      .filter((record) => record.schedule_id === schedule_id)
      .sort((a, b) => ((a.scheduled_for ?? "") < (b.scheduled_for ?? "") ? -1 : 1));

  return { ...pipeline, ...ports, ports, make, fireRule, check, ruleOf, stored, tasksOf, task };
}
