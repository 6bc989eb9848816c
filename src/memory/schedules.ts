import type { Page } from "../core/ports/tasks.ts";
import { RuleRefused } from "../core/schedules/cron.ts";
import type {
  AppScheduleState,
  AppScheduleStates,
  FiringProgress,
  Firings,
  RuleChecks,
  Rules,
  SchedulerRule,
  Schedules,
  Tenants,
} from "../core/schedules/ports.ts";
import type { ScheduleKey, ScheduleRecord } from "../core/schedules/schedule-record.ts";
import { copy } from "./copy.ts";

const keyOf = ({ tenant_id, schedule_id }: ScheduleKey) => JSON.stringify([tenant_id, schedule_id]);

/** Schedules in memory. Values are copied on the way in and out, as over a network. */
export class MemorySchedules implements Schedules {
  readonly #records = new Map<string, ScheduleRecord>();

  async create(record: ScheduleRecord): Promise<ScheduleRecord | undefined> {
    const existing = this.#records.get(keyOf(record));
    if (existing === undefined) this.#records.set(keyOf(record), copy(record));
    return copy(existing);
  }

  async get(key: ScheduleKey): Promise<ScheduleRecord | undefined> {
    return copy(this.#records.get(keyOf(key)));
  }

  async replace(record: ScheduleRecord, revision: number): Promise<boolean> {
    if (this.#records.get(keyOf(record))?.revision !== revision) return false;
    this.#records.set(keyOf(record), copy(record));
    return true;
  }

  async delete(key: ScheduleKey, revision: number): Promise<boolean> {
    return this.#records.get(keyOf(key))?.revision === revision && this.#records.delete(keyOf(key));
  }

  async list(tenantId: string, page: { limit: number; from?: string | undefined }): Promise<Page<ScheduleRecord>> {
    const mine = [...this.#records.values()].filter((record) => record.tenant_id === tenantId);
    return copy(pageOf(mine, (record) => record.schedule_id, page));
  }

  /** The schedules of all tenants. */
  all(): ScheduleRecord[] {
    return copy([...this.#records.values()]);
  }
}

/** The rules of EventBridge Scheduler in memory. The caller fires them. */
export class MemoryRules implements Rules {
  readonly #byName = new Map<string, SchedulerRule>();

  async put(rule: SchedulerRule): Promise<void> {
    if (!/^(cron|rate)\(.+\)$/.test(rule.expression))
      throw new RuleRefused(`${rule.expression} is not a cron or rate expression`);
    this.#byName.set(rule.name, copy(rule));
  }

  async delete(name: string): Promise<void> {
    this.#byName.delete(name);
  }

  /** All rules, by name. */
  all(): ReadonlyMap<string, SchedulerRule> {
    return this.#byName;
  }
}

/** Requested checks of rules, in memory. The caller makes the checks. */
export class MemoryRuleChecks implements RuleChecks {
  #keys: ScheduleKey[] = [];

  async request(key: ScheduleKey): Promise<void> {
    this.#keys.push(key);
  }

  /** Removes and returns the requests so far. */
  takeAll(): ScheduleKey[] {
    const keys = this.#keys;
    this.#keys = [];
    return keys;
  }
}

/** The directory of tenants in memory. */
export class MemoryTenants implements Tenants {
  readonly #ids = new Set<string>();

  async note(tenantId: string): Promise<void> {
    this.#ids.add(tenantId);
  }

  async list(page: { limit: number; from?: string | undefined }): Promise<Page<string>> {
    return pageOf([...this.#ids], (id) => id, page);
  }
}

/** States of the app's schedules, in memory. */
export class MemoryAppScheduleStates implements AppScheduleStates {
  readonly #states = new Map<string, AppScheduleState>();

  async get(key: ScheduleKey): Promise<AppScheduleState | undefined> {
    return copy(this.#states.get(keyOf(key)));
  }

  async getMany(keys: readonly ScheduleKey[]): Promise<AppScheduleState[]> {
    return (await Promise.all(keys.map((key) => this.get(key)))).filter((state) => state !== undefined);
  }

  async between(scheduleId: string, first: string, last: string): Promise<AppScheduleState[]> {
    const found = [...this.#states.values()].filter(
      ({ schedule_id, tenant_id }) => schedule_id === scheduleId && tenant_id >= first && tenant_id <= last,
    );
    return copy(found.toSorted((a, b) => (a.tenant_id < b.tenant_id ? -1 : 1)));
  }

  async save(state: AppScheduleState, revision: number | undefined): Promise<boolean> {
    if (this.#states.get(keyOf(state))?.revision !== revision) return false;
    this.#states.set(keyOf(state), copy(state));
    return true;
  }
}

/** Progress of firings for each tenant, in memory. */
export class MemoryFirings implements Firings {
  readonly #progress = new Map<string, FiringProgress>();

  async load(scheduleId: string, scheduledFor: string): Promise<FiringProgress | undefined> {
    return copy(this.#progress.get(`${scheduleId} ${scheduledFor}`));
  }

  async save(scheduleId: string, scheduledFor: string, progress: FiringProgress, _purgeAt: number): Promise<void> {
    this.#progress.set(`${scheduleId} ${scheduledFor}`, copy(progress));
  }
}

/** The items after `from` in the order of their keys. */
function pageOf<T>(
  items: readonly T[],
  keyOfItem: (item: T) => string,
  { limit, from = "" }: { limit: number; from?: string | undefined },
): Page<T> {
  const sorted = items.toSorted((a, b) => (keyOfItem(a) < keyOfItem(b) ? -1 : 1));
  const rest = sorted.filter((item) => keyOfItem(item) > from);
  const found = rest.slice(0, limit);
  const last = found.at(-1);
  return { items: found, next: last !== undefined && rest.length > found.length ? keyOfItem(last) : undefined };
}
