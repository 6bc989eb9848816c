import { iso } from "../core/model/record.ts";
import { nextTime } from "../core/schedules/calendar.ts";
import { type FireSchedulePorts, fireSchedule } from "../core/schedules/fire-schedule.ts";
import type { ScheduleRecord } from "../core/schedules/schedule-record.ts";
import type { MemoryStores } from "../memory/stores.ts";

/** Fires the schedules that handlers have made, while the kit's time passes. */
export class ScheduleTimes {
  readonly #stores: MemoryStores;
  readonly #sinceMs: number;
  /** The latest time of each schedule that has fired, in epoch milliseconds. */
  readonly #fired = new Map<string, number>();

  /** @param sinceMs Times up to this one have passed. */
  constructor(stores: MemoryStores, sinceMs: number) {
    this.#stores = stores;
    this.#sinceMs = sinceMs;
  }

  /** The next time of all schedules, in epoch milliseconds. Undefined: there is none. */
  next(): number | undefined {
    const times = this.#all().flatMap(({ atMs }) => atMs ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** Fires the times that have come. */
  async fire(ports: FireSchedulePorts): Promise<void> {
    for (const { schedule, atMs } of this.#all()) {
      if (atMs === undefined || atMs > ports.clock.now()) continue;
      const { tenant_id, schedule_id, rule_revision } = schedule;
      this.#fired.set(keyOf(schedule), atMs);
      await fireSchedule(ports, {
        ...{ kind: "schedule", tenant_id, schedule_id, rule_revision },
        scheduled_for: iso(atMs),
      });
    }
  }

  #all(): { schedule: ScheduleRecord; atMs: number | undefined }[] {
    const ready = this.#stores.schedules.all().filter(({ state, enabled }) => state === "ready" && enabled);
    return ready.map((schedule) => {
      const after = Math.max(this.#sinceMs, this.#fired.get(keyOf(schedule)) ?? 0);
      const next = nextTime(schedule, schedule.created_at, after);
      return { schedule, atMs: next === undefined ? undefined : Date.parse(next) };
    });
  }
}

const keyOf = ({ tenant_id, schedule_id }: ScheduleRecord): string => `${tenant_id} ${schedule_id}`;
