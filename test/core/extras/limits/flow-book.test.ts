import { describe, expect, test } from "vitest";
import { FlowBook } from "../../../../src/core/extras/limits/flow-book.ts";
import { breakerOf, limitsOf, stopOf } from "../../../../src/core/extras/limits/limit-lines.ts";
import { PortUnavailable } from "../../../../src/core/model/errors.ts";
import { settingsAgeMs } from "../../../../src/core/ports/flow.ts";
import { FakeClock } from "../../../../src/memory/clock.ts";
import { MemoryFlowSettings } from "../../../../src/memory/flow-settings.ts";
import { KeptLog } from "../../../support/kept.ts";

const work = { tier: "normal", type: "mail.send", tenantId: "acme" } as const;
const pause = "pause/type/mail.send";

/** A book whose table can be made unreadable. */
async function setUp() {
  const clock = new FakeClock(1_000_000);
  const flowSettings = new MemoryFlowSettings();
  await flowSettings.put({ kind: "pause", name: pause, since: "", by: "olga" });
  const table = { answers: true };
  /** The calls of the table. */
  const reads: string[] = [];
  for (const method of ["some", "find"] as const) {
    const read = flowSettings[method].bind(flowSettings) as (given: never) => Promise<never>;
    flowSettings[method] = async (given: never) => {
      reads.push(method);
      if (!table.answers) throw new PortUnavailable("the table");
      return read(given);
    };
  }
  return { clock, flowSettings, table, reads, book: new FlowBook({ clock, log: new KeptLog(), flowSettings }) };
}

test("what was read last stays in use while the table does not answer, also when it was to be read again", async () => {
  const { clock, book, table } = await setUp();
  expect(await stopOf(book, work, true)).toBe(pause);
  table.answers = false;
  await clock.advance(settingsAgeMs);
  expect(await stopOf(book, work, true)).toBe(pause);
  book.forget();
  expect(await stopOf(book, work, true)).toBe(pause);
});

test("a process that has read nothing yet cannot tell", async () => {
  const { book, table } = await setUp();
  table.answers = false;
  book.forget();
  await expect(stopOf(book, work, true)).rejects.toThrow(PortUnavailable);
  table.answers = true;
  expect(await stopOf(book, work, true)).toBe(pause);
});

test("what is to be read again is read with the next look", async () => {
  const { book, flowSettings } = await setUp();
  expect(await stopOf(book, work, true)).toBe(pause);
  await flowSettings.remove(pause);
  book.forget();
  expect(await stopOf(book, work, true)).toBeUndefined();
});

describe("the breakers of many tenants", () => {
  /** More than are read together. */
  const failing = async (flowSettings: MemoryFlowSettings, most: number) => {
    for (let tenant = 0; tenant < 600; tenant++) await flowSettings.countFailure(`breaker/other/${tenant}`, most, 1, 1);
  };
  const breaker = "breaker/mail.send/acme";

  test("are not read, and pauses and limits still apply", async () => {
    const { book, flowSettings, reads } = await setUp();
    await failing(flowSettings, 9);
    const limits = { kind: "limits", name: "limits/mail.send", concurrency: 3 } as const;
    await flowSettings.put(limits);
    expect(await stopOf(book, work, true)).toBe(pause);
    expect(await limitsOf(book, "mail.send")).toEqual(limits);
    expect(await stopOf(book, { ...work, type: "other.type" }, false)).toBeUndefined();
    expect(reads).toEqual(["some"]);
  });

  test("are read for the tasks at hand, every two seconds at most", async () => {
    const { book, clock, flowSettings, reads } = await setUp();
    await failing(flowSettings, 9);
    await flowSettings.remove(pause);
    await flowSettings.countFailure("breaker/a.first/acme", 1, 5, 1);
    await flowSettings.countFailure(breaker, 1, 5, 1);
    const first = { ...work, type: "a.first" };
    const look = async () => [await stopOf(book, first, true), await stopOf(book, first, true)];
    expect(await look()).toEqual(["breaker/a.first/acme", "breaker/a.first/acme"]);
    expect(reads).toEqual(["some", "find"]);
    await flowSettings.remove("breaker/a.first/acme");
    expect(await look()).toEqual(["breaker/a.first/acme", "breaker/a.first/acme"]);
    await clock.advance(settingsAgeMs);
    expect(await look()).toEqual([undefined, undefined]);
    expect(reads).toEqual(["some", "find", "some", "find"]);
    await flowSettings.countFailure("breaker/a.first/acme", 1, 5, 1);
    book.forget();
    expect(await look()).toEqual(["breaker/a.first/acme", "breaker/a.first/acme"]);
    expect(await stopOf(book, work, true)).toBe(breaker);
  });

  test("stay in use as they were read last while the table does not answer", async () => {
    const { book, clock, flowSettings, table } = await setUp();
    await failing(flowSettings, 9);
    await flowSettings.countFailure("breaker/a.first/acme", 1, 5, 1);
    const first = { ...work, type: "a.first" };
    expect(await stopOf(book, first, true)).toBe("breaker/a.first/acme");
    table.answers = false;
    await clock.advance(settingsAgeMs);
    expect(await stopOf(book, first, true)).toBe("breaker/a.first/acme");
    // Of this tenant nothing is known.
    await expect(stopOf(book, { ...first, tenantId: "beta" }, true)).rejects.toThrow(PortUnavailable);
    table.answers = true;
    await clock.advance(settingsAgeMs);
    expect(await stopOf(book, { ...first, tenantId: "beta" }, true)).toBeUndefined();
  });

  test("do not hide others that fail: a success finds its breaker", async () => {
    const { book, flowSettings } = await setUp();
    await failing(flowSettings, 1);
    expect(await breakerOf(book, "a.first", "acme")).toBeUndefined();
    const counted = await flowSettings.countFailure("breaker/a.first/acme", 9, 5, 1);
    book.forget();
    expect(await breakerOf(book, "a.first", "acme")).toEqual(counted);
  });
});
