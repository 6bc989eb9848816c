import { randomBytes } from "node:crypto";
import type { Clock } from "../../core/ports.ts";
import { accountId, region } from "../sqs/queue-message.ts";
import type { Firing, Schedule, ScheduleRows } from "./schedule-rows.ts";
import { dueTimes } from "./schedule-times.ts";

/** Firings delivered at the same time. */
const maxRunning = 20;

/** The longest sleep between looks at the clock: the machine's own sleep stops timers. */
const maxSleepMs = 30_000;

const defaultRetries = 185;
const defaultAgeSeconds = 86_400;
const maxBackoffMs = 60_000;

/** What a schedule's target gets. */
export interface Fired {
  /** ARN of the target. */
  arn: string;
  /** The target's input, with the context attributes filled in. */
  input: string;
  scheduleArn: string;
  /** ISO time for which it was scheduled, without milliseconds. */
  scheduledTime: string;
  executionId: string;
  /** From 1. */
  attempt: number;
}

/** A firing that was given up, on its way to the dead-letter queue of its target. */
export interface LostFiring extends Fired {
  /** ARN of the dead-letter queue. */
  dlqArn: string;
  error: string;
}

export interface EngineOptions {
  rows: ScheduleRows;
  clock: Clock;
  /** Delivers to the target; a failure is tried again. */
  fire(fired: Fired): Promise<void>;
  /** Keeps a firing that was given up. Default: it is dropped. */
  bury: ((lost: LostFiring) => Promise<void>) | undefined;
}

/**
 * Fires schedules to the second. A firing is written down in the same step as the schedule's next time, and taken out
 * when the target has it: at least once, also across `kill -9`.
 */
export class ScheduleEngine {
  readonly #options: EngineOptions;
  readonly #running = new Set<string>();
  #cancelTimer = () => {};
  #closed = false;

  constructor(options: EngineOptions) {
    this.#options = options;
  }

  /** Fires what is due, and sleeps until the next time. To be called at the start and when a schedule has changed. */
  tick(): void {
    if (this.#closed) return;
    const { rows, clock } = this.#options;
    const now = clock.now();
    const due = rows.dueSchedules(now);
    if (due.length > 0) {
      rows.atOnce(() => {
        for (const schedule of due) this.#begin(schedule, now);
      });
    }
    // Those that are running are among them.
    for (const firing of rows.dueFirings(now, 2 * maxRunning)) {
      if (this.#running.size >= maxRunning) break;
      if (!this.#running.has(firing.executionId)) this.#run(firing);
    }
    this.#sleep(now);
  }

  close(): void {
    this.#closed = true;
    this.#cancelTimer();
  }

  #begin(schedule: Schedule, now: number): void {
    const { rows } = this.#options;
    const { GroupName: groupName, Name: name, Target: target } = schedule.input;
    const { scheduledAt, nextAt } = dueTimes(schedule, now);
    const executionId = randomBytes(8).toString("hex");
    rows.saveFiring({ executionId, groupName, name, scheduledAt, begunAt: now, attempt: 1, tryAt: now, target });
    rows.save({ ...schedule, nextAt });
  }

  async #run(firing: Firing): Promise<void> {
    this.#running.add(firing.executionId);
    const settle = await this.#attempt(firing);
    this.#running.delete(firing.executionId);
    if (this.#closed) return;
    this.#options.rows.atOnce(settle);
    this.tick();
  }

  /** Gives what is to be written down of the attempt. */
  async #attempt(firing: Firing): Promise<() => void> {
    const { fire, bury, clock } = this.#options;
    const fired = toFired(firing);
    try {
      await fire(fired);
    } catch (error) {
      const tryAt = clock.now() + Math.min(1000 * 2 ** (firing.attempt - 1), maxBackoffMs);
      if (mayRetry(firing, tryAt)) return () => this.#again({ ...firing, attempt: firing.attempt + 1, tryAt });
      const dlqArn = firing.target.DeadLetterConfig?.Arn;
      try {
        if (dlqArn !== undefined) await bury?.({ ...fired, dlqArn, error: String(error) });
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

  #sleep(now: number): void {
    const { rows, clock } = this.#options;
    this.#cancelTimer();
    const times = [rows.nextScheduleAt(), rows.nextTryAt(now), now + maxSleepMs];
    const until = Math.min(...times.filter((time) => time !== undefined));
    this.#cancelTimer = clock.after(Math.max(until - now, 0), () => this.tick());
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

/** What a Lambda function gets from a schedule that has no input of its own. */
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
