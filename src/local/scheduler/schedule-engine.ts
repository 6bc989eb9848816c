import { randomBytes } from "node:crypto";
import type { Clock } from "../../core/ports/tasks.ts";
import { DiskFault } from "../disk/disk-faults.ts";
import { accountId, region } from "../sqs/queue-message.ts";
import { Alarm } from "../time/alarm.ts";
import type { Firing, Schedule, ScheduleRows } from "./schedule-rows.ts";
import { dueTimes } from "./schedule-times.ts";

/** Number of firings that are delivered at the same time, at most. */
const maxRunning = 20;

const defaultRetries = 185;
const defaultAgeSeconds = 86_400;
const maxBackoffMs = 60_000;

/** Wait after the schedules could not be written, in milliseconds. */
const faultWaitMs = 1_000;

/** A firing as the schedule's target receives it. */
export interface Fired {
  /** ARN of the target. */
  arn: string;
  /** The target's input, with the context attributes filled in. */
  input: string;
  scheduleArn: string;
  /** ISO time for which it was scheduled, without milliseconds. */
  scheduledTime: string;
  executionId: string;
  /** Number of the delivery attempt, from 1. */
  attempt: number;
}

/** A firing that could not be delivered, for the dead-letter queue of its target. */
export interface LostFiring extends Fired {
  /** ARN of the dead-letter queue. */
  dlqArn: string;
  error: string;
}

export interface EngineOptions {
  rows: ScheduleRows;
  clock: Clock;
  /** Delivers to the target. A failed delivery is tried again. */
  fire(fired: Fired): Promise<void>;
  /** Sends a firing that could not be delivered to a dead-letter queue. Undefined: the firing is dropped. */
  sendToDlq: ((lost: LostFiring) => Promise<void>) | undefined;
}

/**
 * Fires schedules, exact to the second. A firing is stored in the same transaction as the schedule's next time, and
 * deleted after its delivery. So each firing is delivered at least once, even after `kill -9`.
 */
export class ScheduleEngine {
  readonly #options: EngineOptions;
  readonly #running = new Set<string>();
  readonly #alarm: Alarm;
  #closed = false;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock, () => this.tick());
  }

  /**
   * Fires the due schedules, and sets the alarm for the next one. Call this at the start and when a schedule has
   * changed.
   */
  tick(): void {
    if (this.#closed) return;
    const now = this.#options.clock.now();
    this.#unlessFault(() => this.#fireDue(now));
  }

  #fireDue(now: number): void {
    const { rows } = this.#options;
    const due = rows.dueSchedules(now);
    if (due.length > 0) {
      rows.transaction(() => {
        for (const schedule of due) this.#begin(schedule, now);
      });
    }
    // The running firings are among them, hence twice the number.
    for (const firing of rows.dueFirings(now, 2 * maxRunning)) {
      if (this.#running.size >= maxRunning) break;
      if (!this.#running.has(firing.executionId)) this.#run(firing);
    }
    this.#setAlarm(now);
  }

  /** The clock was set back: recurring schedules go on from now. There must be no others. */
  startAnew(): void {
    const { rows, clock } = this.#options;
    const now = clock.now();
    rows.transaction(() => {
      for (const schedule of rows.list(undefined)) {
        const known = { ...schedule, createdAt: now, changedAt: now };
        rows.save({ ...known, nextAt: schedule.nextAt && dueTimes(known, now).nextAt });
      }
    });
    this.tick();
  }

  /** Epoch milliseconds at which the next schedule fires, or the next delivery is tried again. */
  nextAt(): number | undefined {
    const { rows, clock } = this.#options;
    const times = [rows.nextScheduleAt(), rows.nextTryAt(clock.now())].filter((time) => time !== undefined);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** Number of deliveries that are under way. */
  get running(): number {
    return this.#running.size;
  }

  close(): void {
    this.#closed = true;
    this.#alarm.cancel();
  }

  #begin(schedule: Schedule, now: number): void {
    const { rows } = this.#options;
    const { GroupName: groupName, Name: name, Target: target } = schedule.input;
    const { scheduledAt, nextAt } = dueTimes(schedule, now);
    for (const time of scheduledAt) {
      const executionId = randomBytes(8).toString("hex");
      rows.saveFiring({
        executionId,
        groupName,
        name,
        scheduledAt: time,
        begunAt: now,
        attempt: 1,
        tryAt: now,
        target,
      });
    }
    rows.save({ ...schedule, nextAt });
  }

  async #run(firing: Firing): Promise<void> {
    this.#running.add(firing.executionId);
    const saveResult = await this.#attempt(firing);
    this.#running.delete(firing.executionId);
    if (this.#closed) return;
    this.#unlessFault(() => {
      this.#options.rows.transaction(saveResult);
      this.tick();
    });
  }

  /**
   * After a fault of the disk, everything that is not saved is due again in a second: a firing may be delivered twice.
   */
  #unlessFault(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!(error instanceof DiskFault)) throw error;
      this.#alarm.set(this.#options.clock.now() + faultWaitMs);
    }
  }

  /** Delivers a firing. Returns a function that saves the result. */
  async #attempt(firing: Firing): Promise<() => void> {
    const { fire, sendToDlq, clock } = this.#options;
    const fired = toFired(firing);
    try {
      await fire(fired);
    } catch (error) {
      const tryAt = clock.now() + Math.min(1000 * 2 ** (firing.attempt - 1), maxBackoffMs);
      if (mayRetry(firing, tryAt)) return () => this.#again({ ...firing, attempt: firing.attempt + 1, tryAt });
      const dlqArn = firing.target.DeadLetterConfig?.Arn;
      try {
        if (dlqArn !== undefined) await sendToDlq?.({ ...fired, dlqArn, error: String(error) });
      } catch {
        return () => this.#again({ ...firing, tryAt });
      }
    }
    return () => this.#end(firing);
  }

  #again(firing: Firing): void {
    this.#options.rows.saveFiring(firing);
  }

  #end({ executionId, groupName, name }: Firing): void {
    const { rows } = this.#options;
    rows.deleteFiring(executionId);
    const schedule = rows.schedule(groupName, name);
    const over = schedule?.nextAt === undefined && schedule?.input.State === "ENABLED";
    if (over && schedule.input.ActionAfterCompletion === "DELETE" && !rows.isFiring(groupName, name)) {
      rows.delete(groupName, name);
    }
  }

  #setAlarm(now: number): void {
    const { rows } = this.#options;
    const times = [rows.nextScheduleAt(), rows.nextTryAt(now)];
    this.#alarm.set(Math.min(...times.filter((time) => time !== undefined)));
  }
}

export function scheduleArn(groupName: string, name: string): string {
  return `arn:aws:scheduler:${region}:${accountId}:schedule/${groupName}/${name}`;
}

function mayRetry({ attempt, begunAt, target }: Firing, tryAt: number): boolean {
  const { MaximumRetryAttempts = defaultRetries, MaximumEventAgeInSeconds = defaultAgeSeconds } =
    target.RetryPolicy ?? {};
  return attempt <= MaximumRetryAttempts && tryAt - begunAt <= MaximumEventAgeInSeconds * 1000;
}

function toFired({ groupName, name, scheduledAt, executionId, attempt, target }: Firing): Fired {
  const scheduledTime = new Date(scheduledAt).toISOString().replace(/\.\d+/, "");
  const arn = scheduleArn(groupName, name);
  const context: Record<string, string> = {
    "<aws.scheduler.schedule-arn>": arn,
    "<aws.scheduler.scheduled-time>": scheduledTime,
    "<aws.scheduler.execution-id>": executionId,
    "<aws.scheduler.attempt-number>": String(attempt),
  };
  const template = target.Input ?? defaultInput;
  const input = template.replaceAll(/<aws\.scheduler\.[a-z-]+>/g, (attribute) => context[attribute] ?? attribute);
  return { arn: target.Arn, input, scheduleArn: arn, scheduledTime, executionId, attempt };
}

/** The input that a Lambda function receives from a schedule without an input of its own. */
const defaultInput = JSON.stringify({
  version: "0",
  id: "<aws.scheduler.execution-id>",
  "detail-type": "Scheduled Event",
  source: "aws.scheduler",
  account: accountId,
  time: "<aws.scheduler.scheduled-time>",
  region,
  resources: ["<aws.scheduler.schedule-arn>"],
  detail: "{}",
});
