import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RuleRefused } from "../../src/core/schedules/cron.ts";
import type {
  AppScheduleState,
  AppScheduleStates,
  Firings,
  Rules,
  SchedulerRule,
  Schedules,
  Tenants,
} from "../../src/core/schedules/ports.ts";
import { type ScheduleRecord, scheduleIdOf } from "../../src/core/schedules/schedule-record.ts";

const freshTenant = () => `tenant-${randomUUID()}`;

/** A record as create writes it. */
function newSchedule(tenant_id: string, more: Partial<ScheduleRecord> = {}): ScheduleRecord {
  const { name = `schedule-${randomUUID()}` } = more;
  const at = "2027-01-01T00:00:00.000Z";
  return {
    tenant_id,
    schedule_id: scheduleIdOf(tenant_id, name),
    name,
    enabled: true,
    overlap: "allow",
    cron: "0 * * * *",
    timezone: "UTC",
    task: { type: "echo", input: { value: [1e300, 0.1, 2 ** 60, "", null, { "": "ä\u0000" }] } },
    state: "creating",
    revision: 1,
    rule_revision: 1,
    request_hash: "hash",
    created_by: "olga",
    created_at: at,
    updated_at: at,
    enabled_since: at,
    fired: [],
    skipped: 0,
    skips: [],
    ...more,
  };
}

/** What every implementation of `Schedules` does. */
export function describeSchedules(name: string, open: () => Promise<{ schedules: Schedules; close(): Promise<void> }>) {
  describe.concurrent(name, () => {
    let schedules: Schedules;
    let close: () => Promise<void>;
    beforeAll(async () => ({ schedules, close } = await open()));
    afterAll(() => close());

    test("a record comes back as it was written, and shares no object with the caller", async () => {
      const record = newSchedule(freshTenant());
      expect(await schedules.get(record)).toBeUndefined();
      expect(await schedules.create(record)).toBeUndefined();
      const before = structuredClone(record);
      record.skips.push("later");
      expect(await schedules.get(record)).toEqual(before);
    });

    test("one of many creates succeeds", async () => {
      const record = newSchedule(freshTenant());
      const made = await Promise.all(Array.from({ length: 10 }, () => schedules.create(record)));
      expect(made.filter((existing) => existing === undefined)).toHaveLength(1);
      expect(made.filter((existing) => existing !== undefined)).toEqual(Array(9).fill(record));
    });

    test("a replace of a given revision succeeds once, and replaces the whole record", async () => {
      const record = newSchedule(freshTenant(), { last_error: "no" });
      await schedules.create(record);
      const { last_error: _, ...rest } = record;
      const next = { ...rest, revision: 2, skips: ["2027-01-01T00:00:00.000Z"] };
      const replaced = await Promise.all(Array.from({ length: 10 }, () => schedules.replace(next, 1)));
      expect(replaced.filter(Boolean)).toHaveLength(1);
      expect(await schedules.get(record)).toEqual(next);
      expect(await schedules.replace(newSchedule(freshTenant()), 1)).toBe(false);
    });

    test("a delete succeeds for the present revision only", async () => {
      const record = newSchedule(freshTenant());
      await schedules.create(record);
      expect(await schedules.delete(record, 7)).toBe(false);
      expect(await schedules.get(record)).toEqual(record);
      expect(await schedules.delete(record, 1)).toBe(true);
      expect(await schedules.get(record)).toBeUndefined();
      expect(await schedules.delete(record, 1)).toBe(false);
    });

    test("the list has the tenant's own schedules, page by page", async () => {
      const [mine, other] = [freshTenant(), freshTenant()];
      const records = Array.from({ length: 7 }, () => newSchedule(mine));
      for (const record of [...records, newSchedule(other)]) await schedules.create(record);
      const found: ScheduleRecord[] = [];
      let from: string | undefined;
      do {
        const page = await schedules.list(mine, { limit: 3, from });
        expect(page.items.length).toBeLessThanOrEqual(3);
        found.push(...page.items);
        from = page.next;
      } while (from !== undefined);
      expect(found).toEqual(records.toSorted((a, b) => (a.schedule_id < b.schedule_id ? -1 : 1)));
    });
  });
}

/** What every implementation of `Tenants` does; each needs a directory of its own. */
export function describeTenants(name: string, open: () => Promise<{ tenants: Tenants; close(): Promise<void> }>) {
  describe(name, () => {
    test("each tenant is listed once, page by page", async () => {
      const { tenants, close } = await open();
      expect(await tenants.list({ limit: 10 })).toEqual({ items: [], next: undefined });
      const ids = Array.from({ length: 70 }, (_, index) => `tenant-${100 + index}`);
      await Promise.all([...ids, ...ids].map((id) => tenants.note(id)));
      for (const limit of [1, 3, 69, 70, 200]) {
        const found: string[] = [];
        let from: string | undefined;
        do {
          const page = await tenants.list({ limit, from });
          expect(page.items.length).toBeLessThanOrEqual(limit);
          found.push(...page.items);
          from = page.next;
        } while (from !== undefined);
        expect(found).toEqual(ids);
      }
      expect((await tenants.list({ limit: 10, from: "tenant-1205" })).items[0]).toBe("tenant-121");
      await close();
    });
  });
}

/** What every implementation of `Firings` does. */
export function describeFirings(name: string, open: () => Promise<{ firings: Firings; close(): Promise<void> }>) {
  describe(name, () => {
    test("the progress of each time of each schedule is kept", async () => {
      const { firings, close } = await open();
      const id = randomUUID();
      const [first, second] = ["2027-01-01T00:00:00.000Z", "2027-01-02T00:00:00.000Z"];
      const begun = { from: "tenant-7", submitted: 7, refused: 1, done: false };
      const ended = { submitted: 9, refused: 1, done: true };
      const purgeAt = Math.ceil(Date.now() / 1000) + 600;
      await firings.save(id, first, begun, purgeAt);
      expect(await firings.load(id, first)).toEqual(begun);
      await firings.save(id, first, ended, purgeAt);
      expect(await firings.load(id, first)).toEqual(ended);
      expect(await firings.load(id, second)).toBeUndefined();
      expect(await firings.load(randomUUID(), first)).toBeUndefined();
      await close();
    });
  });
}

/** What every implementation of `AppScheduleStates` does. */
export function describeAppScheduleStates(
  name: string,
  open: () => Promise<{ states: AppScheduleStates; close(): Promise<void> }>,
) {
  describe(name, () => {
    test("states are replaced by revision, and found by schedule and tenants", async () => {
      const { states, close } = await open();
      const [schedule_id, other] = [randomUUID(), randomUUID()];
      const at = "2027-01-01T00:00:00.000Z";
      const stateOf = (tenant_id: string, more: Partial<AppScheduleState> = {}): AppScheduleState => ({
        ...{ tenant_id, schedule_id, revision: 1, skipped: 0, skips: [], updated_at: at, ...more },
      });
      expect(await states.get(stateOf("acme"))).toBeUndefined();
      const tenants = ["*", "Zeta", "acme", "beta", "gamma"];
      for (const tenant of tenants) expect(await states.save(stateOf(tenant), undefined)).toBe(true);
      await states.save(stateOf("beta", { schedule_id: other }), undefined);
      expect(await states.save(stateOf("acme", { revision: 2 }), undefined)).toBe(false);
      expect(await states.save(stateOf("acme", { revision: 3 }), 2)).toBe(false);
      const paused = { revision: 2, paused_since: at, paused_by: "olga", skips: [at], skipped: 1 };
      expect(await states.save(stateOf("acme", paused), 1)).toBe(true);
      expect(await states.get(stateOf("acme"))).toEqual(stateOf("acme", paused));
      const between = async (first: string, last: string) =>
        (await states.between(schedule_id, first, last)).map(({ tenant_id }) => tenant_id);
      expect(await between("Zeta", "beta")).toEqual(["Zeta", "acme", "beta"]);
      expect(await between("b", "c")).toEqual(["beta"]);
      const many = await states.getMany([stateOf("gamma"), stateOf("nobody"), stateOf("beta", { schedule_id: other })]);
      expect(many.map((state) => `${state.tenant_id} ${state.schedule_id}`).sort()).toEqual(
        [`gamma ${schedule_id}`, `beta ${other}`].sort(),
      );
      expect(await states.getMany([])).toEqual([]);
      await close();
    });
  });
}

/** What a test needs of an implementation of `Rules`: a rule as the service has it, or undefined. */
export interface RulesUnderTest {
  rules: Rules;
  stored(name: string): Promise<Pick<SchedulerRule, "expression" | "timezone" | "enabled"> | undefined>;
  close(): Promise<void>;
}

/** What every implementation of `Rules` does. */
export function describeRules(name: string, open: () => Promise<RulesUnderTest>) {
  const newRule = (more: Partial<SchedulerRule> = {}): SchedulerRule => {
    const schedule_id = randomUUID();
    return {
      name: schedule_id,
      expression: "cron(30 2 ? * MON-FRI *)",
      timezone: "Europe/Berlin",
      enabled: true,
      payload: { kind: "schedule", tenant_id: "acme", schedule_id, rule_revision: 7 },
      ...more,
    };
  };
  const shown = ({ expression, timezone, enabled }: SchedulerRule) => ({ expression, timezone, enabled });

  describe.concurrent(name, () => {
    let opened: RulesUnderTest;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(() => opened.close());

    test("a put creates a rule, and replaces it", async () => {
      const { rules, stored } = opened;
      const rule = newRule();
      await rules.put(rule);
      expect(await stored(rule.name)).toEqual(shown(rule));
      const next = { ...rule, expression: "rate(5 minutes)", timezone: "UTC", enabled: false };
      await rules.put(next);
      expect(await stored(rule.name)).toEqual(shown(next));
    });

    test("the same rule can be put again, also at the same time", async () => {
      const { rules, stored } = opened;
      const rule = newRule();
      await Promise.all([rules.put(rule), rules.put(rule), rules.put(rule)]);
      expect(await stored(rule.name)).toEqual(shown(rule));
    });

    test("a rule can be deleted, also when it does not exist", async () => {
      const { rules, stored } = opened;
      const rule = newRule();
      await rules.put(rule);
      await rules.delete(rule.name);
      expect(await stored(rule.name)).toBeUndefined();
      await rules.delete(rule.name);
      expect(await stored(rule.name)).toBeUndefined();
      await rules.put(rule);
      expect(await stored(rule.name)).toEqual(shown(rule));
    });

    test("a refused rule is reported, and not stored", async () => {
      const { rules, stored } = opened;
      const rule = newRule({ expression: "cron(nonsense)" });
      await expect(rules.put({ ...rule, expression: "every day" })).rejects.toBeInstanceOf(RuleRefused);
      expect(await stored(rule.name)).toBeUndefined();
    });
  });
}
