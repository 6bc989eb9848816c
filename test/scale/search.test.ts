import { expect, test } from "vitest";
import type { TaskFilter } from "../../src/core/control/list.ts";
import { searchTasks } from "../../src/core/control/search.ts";
import { searchTerms, type TaskRecord } from "../../src/core/model/record.ts";
import type { Identity } from "../../src/core/model/words.ts";
import type { ListQuery, Page } from "../../src/core/ports/tasks.ts";
import { FakeClock } from "../../src/memory/clock.ts";
import { MemoryRecords } from "../../src/memory/records.ts";
import { newRecord } from "../support/records.ts";

const operator: Identity = { tenantId: "acme", principal: "olga", role: "operator" };
const startMs = Date.parse("2027-01-01T00:00:00.000Z");
const idOf = (number: number): string => `00000000-0000-7000-8000-${String(number).padStart(12, "0")}`;

/** Records in the order of the list, so that 50,000 need not be sorted for each page. */
class SortedRecords extends MemoryRecords {
  readonly queries: ListQuery[] = [];
  readonly #all: { key: string; record: TaskRecord }[] = [];
  readonly #byTerm = new Map<string, { key: string; record: TaskRecord }[]>();

  /** @param record Older than all before. */
  async add(record: TaskRecord): Promise<void> {
    await this.create(record, record.created_at);
    const entry = { key: `${record.created_at}#${record.task_id}`, record };
    this.#all.push(entry);
    for (const term of searchTerms(record)) {
      const entries = this.#byTerm.get(term) ?? [];
      entries.push(entry);
      this.#byTerm.set(term, entries);
    }
  }

  override async list(query: ListQuery): Promise<Page<TaskRecord>> {
    this.queries.push(query);
    const { term, from, limit } = query;
    const entries = term === undefined ? this.#all : (this.#byTerm.get(term) ?? []);
    const start = from === undefined ? 0 : entries.findIndex(({ key }) => key < from);
    const page = start < 0 ? [] : entries.slice(start, start + limit);
    const isLast = start < 0 || start + limit >= entries.length;
    return { items: page.map(({ record }) => record), next: isLast ? undefined : page.at(-1)?.key };
  }
}

/** A tenant with 50,000 tasks: one with an order, one with a client's correlation id, half with a common tag, one of these failed. */
async function tenant() {
  const records = new SortedRecords();
  for (let number = 49_999; number >= 0; number--) {
    const created_at = new Date(startMs + number * 1000).toISOString();
    const base = { tenant_id: "acme", task_id: idOf(number), created_at, correlation_id: `made-${number}` };
    const more: Partial<TaskRecord> = {
      ...(number === 10 && { tags: { order: "A-10" } }),
      ...(number === 11 && { correlation_id: "given-11", correlation_given: true as const }),
      ...(number === 12 && { status: "failed" as const, error: "the needle broke" }),
      ...(number >= 25_000 && { tags: { region: "north" } }),
      ...(number === 25_000 && { status: "failed" as const }),
    };
    await records.add(newRecord({ ...base, ...more }));
  }
  const ports = { records, clock: new FakeClock(startMs + 86_400_000) };
  /** Reads of each answer, and the number of the answer with the first task. */
  const search = async (text: string, filter: TaskFilter = {}) => {
    const ids: string[] = [];
    const reads: number[] = [];
    let found: number | undefined;
    let from: string | undefined;
    do {
      records.queries.length = 0;
      const page = await searchTasks(ports, operator, filter, text, { limit: 100, from });
      reads.push(records.queries.reduce((sum, { limit }) => sum + limit, 0));
      ids.push(...page.items.map(({ task_id }) => task_id));
      if (ids.length > 0) found ??= reads.length;
      from = page.next;
    } while (from !== undefined);
    return { ids, found, answers: reads.length, most: Math.max(...reads) };
  };
  return search;
}

test("among 50,000 tasks each answer reads a bounded number, a term finds its task in the first answer, and every task is found", async () => {
  const search = await tenant();
  for (const [text, number] of [
    ["a-10", 10],
    ["order=a-10", 10],
    ["given-11", 11],
    [idOf(13), 13],
  ] as const) {
    const { ids, found, answers, most } = await search(text);
    expect({ ids, found }).toEqual({ ids: [idOf(number)], found: 1 });
    expect(answers).toBe(3);
    expect(most).toBeLessThan(21_000);
  }
  expect(await search("needle")).toMatchObject({ ids: [idOf(12)], found: 3, answers: 3 });
  expect(await search("made-14")).toMatchObject({ ids: [idOf(14)], found: 3, answers: 3 });
  const common = await search("north", { status: "failed" });
  expect(common).toMatchObject({ ids: [idOf(25_000)], found: 2 });
  expect(common.most).toBeLessThan(21_000);
});
