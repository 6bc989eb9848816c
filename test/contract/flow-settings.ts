import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { breakerName, breakersPrefix, pauseName } from "../../src/core/model/wait-queue.ts";
import {
  type Breaker,
  type FlowSetting,
  type FlowSettings,
  guardName,
  limitsName,
  type Pause,
  type TypeLimits,
} from "../../src/core/ports/flow.ts";

/** An implementation of `FlowSettings`. */
export interface FlowSettingsUnderTest {
  settings: FlowSettings;
  close(): Promise<void>;
}

const untilMs = 1_800_000_000_000;
/** Time of the failure that opens a breaker. */
const openedMs = 1_700_000_000_000;

/** A name of a type that no other test uses. */
const newType = (): string => `t-${randomUUID()}`;

const newPause = (of: Partial<Pause> = {}): Pause => ({
  ...{ kind: "pause", name: pauseName({ scope: "type", type: newType() }) },
  ...{ since: "2027-01-01T00:00:00.000Z", by: "olga" },
  ...of,
});

const newBreaker = (): string => breakerName(newType(), "acme");

/** The promises of the settings of flow, for every implementation. */
export function describeFlowSettings(name: string, make: () => Promise<FlowSettingsUnderTest>): void {
  describe(name, () => {
    let under: FlowSettingsUnderTest;
    let settings: FlowSettings;
    beforeAll(async () => {
      under = await make();
      settings = under.settings;
    });
    afterAll(() => under.close());

    const allOf = async (names: readonly string[]): Promise<FlowSetting[]> => {
      const known = new Set(names);
      return (await settings.all()).filter((setting) => known.has(setting.name));
    };

    test("a setting that nobody made does not exist", async () => {
      const name = newBreaker();
      expect(await settings.find(name)).toBeUndefined();
      expect(await allOf([name])).toEqual([]);
    });

    test("settings are found by their names, and all together, as they were stored", async () => {
      const type = newType();
      const stored: (Pause | TypeLimits)[] = [
        newPause({ by: "o \u0000 ä 東京 🎈 #/" }),
        newPause({ name: pauseName({ scope: "tenant", tenantId: type }) }),
        newPause({ name: pauseName({ scope: "type", type, tenantId: "acme" }) }),
        newPause({ name: pauseName({ scope: "type", type, tenantId: "acme-2" }) }),
        { kind: "limits", name: limitsName(type), concurrency: 3, rate: { limit: 100_000, per_seconds: 86_400 } },
        { kind: "limits", name: limitsName(`${type}.b`), concurrency: 1_000 },
      ];
      for (const setting of stored) await settings.put(setting);
      for (const setting of stored) expect(await settings.find(setting.name)).toEqual(setting);
      const all = await allOf(stored.map((setting) => setting.name));
      expect(all).toHaveLength(stored.length);
      expect(all).toEqual(expect.arrayContaining(stored));
    });

    test("a setting is replaced as a whole", async () => {
      const name = limitsName(newType());
      await settings.put({ kind: "limits", name, concurrency: 3 });
      await settings.put({ kind: "limits", name, rate: { limit: 1, per_seconds: 1 } });
      expect(await settings.find(name)).toEqual({ kind: "limits", name, rate: { limit: 1, per_seconds: 1 } });
    });

    test("a removed setting does not exist, and others stay", async () => {
      const type = newType();
      const [pause, wider] = [
        newPause({ name: pauseName({ scope: "type", type, tenantId: "acme" }) }),
        newPause({ name: pauseName({ scope: "type", type }) }),
      ];
      for (const setting of [pause, wider]) await settings.put(setting);
      await settings.remove(pause.name);
      await settings.remove(pause.name);
      expect(await settings.find(pause.name)).toBeUndefined();
      expect(await allOf([pause.name, wider.name])).toEqual([wider]);
    });

    test("all settings are returned, also very many", async () => {
      const by = "o".repeat(20_000);
      const pauses = Array.from({ length: 120 }, () => newPause({ by }));
      await Promise.all(pauses.map((pause) => settings.put(pause)));
      const all = await allOf(pauses.map((pause) => pause.name));
      expect(new Set(all.map((setting) => setting.name)).size).toBe(120);
      expect(all).toHaveLength(120);
      await Promise.all(pauses.map((pause) => settings.remove(pause.name)));
    });

    test("settings are found by the beginning of their names, in order, and no more than are wanted", async () => {
      const type = newType();
      const names = ["acme/b", "acme/a/1", "acme/\u{1f600}", "acme", "acmex/a"].map(
        (of) => `${breakersPrefix}${type}/${of}`,
      );
      await Promise.all(names.map((name) => settings.countFailure(name, 9, untilMs, openedMs)));
      const found = await settings.named(`${breakersPrefix}${type}/acme/`, 9);
      expect(found).toEqual([names[1], names[0], names[2]].map((name) => ({ kind: "breaker", name, failures: 1 })));
      expect(await settings.named(`${breakersPrefix}${type}/acme/`, 2)).toEqual(found.slice(0, 2));
      expect(await settings.named(`${breakersPrefix}${type}/beta/`, 9)).toEqual([]);
    });

    test("some settings are all but breakers, and as many breakers as there is room for", async () => {
      const type = newType();
      const pauses = Array.from({ length: 30 }, () => newPause());
      const breakers = Array.from({ length: 30 }, (_, tenant) => breakerName(type, String(tenant)));
      await Promise.all([
        ...pauses.map((pause) => settings.put(pause)),
        ...breakers.map((breaker) => settings.countFailure(breaker, 9, untilMs, openedMs)),
      ]);
      const all = await settings.all();
      const isBreaker = ({ name }: FlowSetting) => name.startsWith(breakersPrefix);
      const others = all.filter((setting) => !isBreaker(setting));
      for (const most of [1, 7, 20]) {
        const some = await settings.some(most);
        expect(some.whole).toBe(false);
        expect(some.settings.filter((setting) => !isBreaker(setting))).toHaveLength(others.length);
        expect(some.settings.length).toBeLessThanOrEqual(others.length + most);
        expect(all).toEqual(expect.arrayContaining(some.settings));
      }
      const whole = await settings.some(all.length + 1);
      expect(whole.whole).toBe(true);
      expect(whole.settings).toHaveLength(all.length);
      expect(whole.settings).toEqual(expect.arrayContaining(all));
      await Promise.all([...pauses.map(({ name }) => name), ...breakers].map((one) => settings.remove(one)));
    });

    describeBreakers(() => settings, allOf);
  });
}

function describeBreakers(settings: () => FlowSettings, allOf: (names: readonly string[]) => Promise<FlowSetting[]>) {
  describe("breakers", () => {
    const closed = (name: string, failures: number): Breaker => ({ kind: "breaker", name, failures });
    const open = (name: string, failures: number, openUntilMs: number): Breaker => ({
      ...closed(name, failures),
      openUntilMs,
      openedMs,
    });

    test("failures are counted, and enough of them open the breaker", async () => {
      const name = newBreaker();
      expect(await settings().countFailure(name, 3, untilMs, openedMs)).toEqual(closed(name, 1));
      expect(await settings().countFailure(name, 3, untilMs + 1, openedMs)).toEqual(closed(name, 2));
      expect(await settings().find(name)).toEqual(closed(name, 2));
      expect(await settings().countFailure(name, 3, untilMs + 2, openedMs)).toEqual(open(name, 3, untilMs + 2));
      expect(await settings().find(name)).toEqual(open(name, 3, untilMs + 2));
      expect(await allOf([name])).toEqual([open(name, 3, untilMs + 2)]);
    });

    test("a failure may open a breaker by itself, and a further one opens it for longer", async () => {
      const name = newBreaker();
      expect(await settings().countFailure(name, 1, untilMs, openedMs)).toEqual(open(name, 1, untilMs));
      const later = await settings().countFailure(name, 1, untilMs + 9, openedMs + 5);
      expect(later).toEqual(open(name, 2, untilMs + 9));
    });

    test("a breaker that is open stays open until the same time while too few failures are counted", async () => {
      const name = newBreaker();
      await settings().countFailure(name, 1, untilMs, openedMs);
      expect(await settings().countFailure(name, 3, untilMs + 9, openedMs)).toEqual(open(name, 2, untilMs));
    });

    test("a breaker that was removed counts from the start", async () => {
      const name = newBreaker();
      await settings().countFailure(name, 1, untilMs, openedMs);
      await settings().remove(name);
      expect(await settings().countFailure(name, 2, untilMs, openedMs)).toEqual(closed(name, 1));
    });

    test("of twenty failures at the same time each is counted, and the breaker opens", async () => {
      const name = newBreaker();
      const counted = await Promise.all(
        Array.from({ length: 20 }, () => settings().countFailure(name, 20, untilMs, openedMs)),
      );
      expect(counted.map(({ failures }) => failures).sort((a, b) => a - b)).toEqual(
        Array.from({ length: 20 }, (_, index) => index + 1),
      );
      expect(counted.filter(({ openUntilMs }) => openUntilMs === untilMs)).toHaveLength(1);
      expect(await settings().find(name)).toEqual(open(name, 20, untilMs));
    });

    test("nineteen failures at the same time do not open a breaker of twenty", async () => {
      const name = newBreaker();
      await Promise.all(Array.from({ length: 19 }, () => settings().countFailure(name, 20, untilMs, openedMs)));
      expect(await settings().find(name)).toEqual(closed(name, 19));
    });

    test("a guard of a resume counts failures, keeps its end, and counts anew when it is put", async () => {
      const name = guardName(pauseName({ scope: "type", type: newType() }));
      const guard = { kind: "breaker" as const, name, failures: 0, guardsUntilMs: untilMs };
      await settings().put(guard);
      expect(await settings().countForGuard(name, untilMs)).toBe(1);
      expect(await settings().find(name)).toEqual({ ...guard, failures: 1 });
      await settings().put(guard);
      expect(await settings().find(name)).toEqual(guard);
    });

    test("a guard is made by its first failure, counts each of twenty at the same time, and is never open", async () => {
      const name = guardName(pauseName({ scope: "type", type: newType(), tenantId: "acme" }));
      const counted = await Promise.all(Array.from({ length: 20 }, () => settings().countForGuard(name, untilMs)));
      expect(counted.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
      expect(await settings().find(name)).toEqual({ ...closed(name, 20), guardsUntilMs: untilMs });
      await settings().remove(name);
      expect(await settings().countForGuard(name, untilMs + 1)).toBe(1);
    });

    test("breakers of other types and tenants count for themselves", async () => {
      const type = newType();
      const names = [breakerName(type, "a"), breakerName(type, "ab"), breakerName(`${type}.b`, "a")];
      for (const [index, name] of names.entries()) {
        for (let failures = 0; failures <= index; failures++) await settings().countFailure(name, 9, untilMs, openedMs);
      }
      expect((await allOf(names)).map((setting) => (setting as Breaker).failures).sort()).toEqual([1, 2, 3]);
    });

    test("of twenty who have seen an open breaker, one lets a task try", async () => {
      const name = newBreaker();
      await settings().countFailure(name, 1, untilMs, openedMs);
      const times = Array.from({ length: 20 }, (_, index) => untilMs + 1 + index);
      const tried = await Promise.all(times.map((time) => settings().tryBreaker(name, untilMs, time)));
      expect(tried.filter(Boolean)).toHaveLength(1);
      expect(await settings().find(name)).toEqual(open(name, 1, times[tried.indexOf(true)] ?? 0));
    });

    test("a breaker that is closed, or was never open, lets nobody try, and stays so", async () => {
      const [name, none] = [newBreaker(), newBreaker()];
      await settings().countFailure(name, 2, untilMs, openedMs);
      expect(await settings().tryBreaker(name, untilMs, untilMs + 1)).toBe(false);
      expect(await settings().tryBreaker(none, untilMs, untilMs + 1)).toBe(false);
      expect(await allOf([name, none])).toEqual([closed(name, 1)]);
    });
  });
}
