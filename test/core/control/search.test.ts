import { describe, expect, test } from "vitest";
import { searchTasks } from "../../../src/core/control/search.ts";
import { type TaskRecord, termSeconds } from "../../../src/core/model/record.ts";
import type { Identity } from "../../../src/core/model/words.ts";
import { FakeClock } from "../../../src/memory/clock.ts";
import { MemoryRecords } from "../../../src/memory/records.ts";
import { newRecord } from "../../support/records.ts";

const operator: Identity = { tenantId: "acme", principal: "olga", role: "operator" };
const submitter: Identity = { tenantId: "acme", principal: "sam", role: "submitter" };
const startMs = Date.parse("2027-01-01T00:00:00.000Z");

const idOf = (number: number): string => `00000000-0000-7000-8000-${String(number).padStart(12, "0")}`;

async function filled(count: number, more: (number: number) => Partial<TaskRecord> = () => ({})) {
  const records = new MemoryRecords();
  const clock = new FakeClock(startMs + 86_400_000);
  for (let number = 0; number < count; number++) {
    const created_at = new Date(startMs + number * 1000).toISOString();
    const base = {
      tenant_id: "acme",
      task_id: idOf(number),
      created_at,
      requested_by: "olga",
      correlation_id: `made-${number}`,
    };
    await records.create(newRecord({ ...base, ...more(number) }), created_at);
  }
  const ports = { records, clock };
  const all = async (text: string, identity = operator, limit = 50, filter = {}) => {
    const ids: string[] = [];
    let pages = 0;
    for (let from: string | undefined, ended = false; !ended; pages++) {
      const page = await searchTasks(ports, identity, filter, text, { limit, from });
      ids.push(...page.items.map(({ task_id }) => task_id));
      from = page.next;
      ended = from === undefined;
    }
    return { ids, pages };
  };
  return { ports, records, all };
}

describe("a search finds tasks", () => {
  const tagged = (number: number): Partial<TaskRecord> =>
    number % 10 === 3 ? { tags: { order: `A-${number}`, region: "North" } } : {};

  test("by a tag's value, by name and value, in any case", async () => {
    const { all } = await filled(100, tagged);
    expect((await all("a-33")).ids).toEqual([idOf(33)]);
    expect((await all("ORDER=A-33")).ids).toEqual([idOf(33)]);
    expect((await all("region=a-33")).ids).toEqual([]);
    expect((await all("north")).ids).toEqual([93, 83, 73, 63, 53, 43, 33, 23, 13, 3].map(idOf));
  });

  test("by a given correlation id, and by one that Offload made", async () => {
    const { all } = await filled(50, (number) =>
      number === 7 ? { correlation_id: "Checkout-7", correlation_given: true } : {},
    );
    expect((await all("checkout-7")).ids).toEqual([idOf(7)]);
    expect((await all("made-8")).ids).toEqual([idOf(8)]);
  });

  test("by a tag's value that looks like a name and a value, before the tasks with such a tag, each once", async () => {
    const { all } = await filled(40, (number) => {
      if (number < 10) return { tags: { query: "Page=2" } };
      if (number < 20) return { tags: { page: "2" } };
      return number < 30 ? { tags: { page: "2", query: "page=2" } } : {};
    });
    const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => to - 1 - index);
    const expected = [...numbers(20, 30), ...numbers(0, 10), ...numbers(10, 20)].map(idOf);
    for (const limit of [1, 3, 10, 100]) expect((await all("page=2", operator, limit)).ids).toEqual(expected);
    expect((await all("query=page=2")).ids).toEqual([...numbers(20, 30), ...numbers(0, 10)].map(idOf));
  });

  test("by texts that name what every object has", async () => {
    const { all } = await filled(3, (number) => ({ tags: { order: "x" }, error: `constructor=${number}` }));
    for (const name of ["constructor", "__proto__", "tostring"]) expect((await all(`${name}=x`)).ids).toEqual([]);
    expect((await all("constructor=1")).ids).toEqual([idOf(1)]);
  });

  test("by a tag, although their terms are too old to be kept", async () => {
    const { ports, records, all } = await filled(30, () => ({ tags: { order: "needle" }, purge_at: 4_000_000_000 }));
    const newest = startMs + 29_000;
    await ports.clock.advance(newest + termSeconds * 1000 - 10_000 - ports.clock.now());
    const list = records.list.bind(records);
    const withoutOldTerms = async (query: Parameters<typeof list>[0]) => {
      const page = await list(query);
      const isKept = ({ created_at }: TaskRecord) => Date.parse(created_at) + termSeconds * 1000 > ports.clock.now();
      return query.term === undefined ? page : { ...page, items: page.items.filter(isKept) };
    };
    records.list = withoutOldTerms;
    expect((await all("needle")).ids).toHaveLength(30);
    // Terms end between two answers.
    const first = await searchTasks(ports, operator, {}, "needle", { limit: 5, from: undefined });
    await ports.clock.advance(3_000);
    const ids = first.items.map(({ task_id }) => task_id);
    for (let from = first.next; from !== undefined; ) {
      const page = await searchTasks(ports, operator, {}, "needle", { limit: 5, from });
      ids.push(...page.items.map(({ task_id }) => task_id));
      from = page.next;
    }
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("by a part of the error's text", async () => {
    const { all } = await filled(50, (number) => (number === 9 ? { error: "The card was DECLINED by the bank" } : {}));
    expect((await all("card was declined")).ids).toEqual([idOf(9)]);
  });

  test("by a whole id, or by its start of four characters or more", async () => {
    const { all } = await filled(120);
    expect((await all(idOf(12))).ids).toEqual([idOf(12)]);
    expect((await all(idOf(12).slice(0, 35))).ids).toEqual([19, 18, 17, 16, 15, 14, 13, 12, 11, 10].map(idOf));
    expect((await all("000")).ids).toEqual([]);
  });

  test("each once, whatever finds it, page by page", async () => {
    const { all } = await filled(40, (number) => ({
      tags: { word: number % 2 === 0 ? "boom" : "other" },
      error: "a boom in the engine",
    }));
    for (const limit of [1, 3, 20, 100]) {
      const { ids } = await all("boom", operator, limit);
      expect(ids).toHaveLength(40);
      expect(new Set(ids).size).toBe(40);
      expect(ids[0]).toBe(idOf(38));
    }
  });

  test("that a filter selects, too", async () => {
    const { all } = await filled(40, (number) => ({
      tags: { word: "boom" },
      type: number < 5 ? "mail.send" : "other",
    }));
    expect((await all("boom", operator, 2, { type: "mail.send" })).ids).toEqual([4, 3, 2, 1, 0].map(idOf));
    const createdAfter = new Date(startMs + 38_000).toISOString();
    expect((await all("boom", operator, 50, { createdAfter })).ids).toEqual([39, 38].map(idOf));
    expect((await all(idOf(1), operator, 50, { createdAfter })).ids).toEqual([]);
  });
});

describe("a search answers", () => {
  test("within a bound of tasks that it looks at, and goes on behind it", async () => {
    const { ports, all } = await filled(25_000, (number) => (number === 5 ? { error: "needle" } : {}));
    const first = await searchTasks(ports, operator, {}, "needle", { limit: 50, from: undefined });
    expect(first.items).toEqual([]);
    expect(first.next).toBeDefined();
    expect(await all("needle")).toEqual({ ids: [idOf(5)], pages: 2 });
  });

  test("with a task of a term in the first page, however many tasks there are", async () => {
    const { ports } = await filled(25_000, (number) => (number === 5 ? { tags: { order: "needle" } } : {}));
    const first = await searchTasks(ports, operator, {}, "needle", { limit: 50, from: undefined });
    expect(first.items.map(({ task_id }) => task_id)).toEqual([idOf(5)]);
  });

  test("with the one task of a common tag that a filter selects, in the first page", async () => {
    const { ports } = await filled(5_000, (number) => ({
      tags: { region: "north" },
      ...(number === 0 && { status: "failed" as const }),
    }));
    const first = await searchTasks(ports, operator, { status: "failed" }, "north", { limit: 50, from: undefined });
    expect(first.items.map(({ task_id }) => task_id)).toEqual([idOf(0)]);
  });

  test("after a time, with what it has found until then, and goes on behind it", async () => {
    const { ports, records, all } = await filled(6_000, (number) => (number === 5 ? { error: "needle" } : {}));
    const list = records.list.bind(records);
    records.list = async (query) => {
      await ports.clock.advance(400);
      return list(query);
    };
    const { ids, pages } = await all("needle");
    expect(ids).toEqual([idOf(5)]);
    expect(pages).toBeGreaterThan(2);
  });

  test("a submitter as if others had submitted nothing", async () => {
    const others = (number: number): Partial<TaskRecord> => ({
      tags: { order: "needle" },
      correlation_id: "trace",
      correlation_given: true,
      error: "a needle",
      ...(number === 3 ? { requested_by: "sam", own_list: true as const } : {}),
    });
    const { ports, all } = await filled(50, others);
    for (const text of ["needle", "order=needle", "trace"]) {
      expect(await all(text, submitter)).toEqual({ ids: [idOf(3)], pages: 1 });
    }
    expect(await searchTasks(ports, submitter, {}, idOf(4), { limit: 5, from: undefined })).toEqual({
      items: [],
      next: undefined,
    });
  });

  test("nothing of another tenant", async () => {
    const { all } = await filled(5, () => ({ tags: { order: "needle" }, error: "needle" }));
    expect((await all("needle", { ...operator, tenantId: "globex" })).ids).toEqual([]);
  });
});
