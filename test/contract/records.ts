import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { applyChange, type Change, type Test } from "../../src/core/model/change.ts";
import { iso, type TaskKey, type TaskRecord } from "../../src/core/model/record.ts";
import type { Page, Part, Records } from "../../src/core/ports/tasks.ts";
import fc from "../support/fast-check.ts";
import { envelopeOf, newRecord } from "../support/records.ts";

/** What a test needs of an implementation of `Records`. */
export interface RecordsUnderTest {
  records: Records;
  /** Epoch seconds until which a part is kept. Undefined: there is none. */
  purgeAtOf(key: TaskKey, part: Part): Promise<number | undefined>;
  close(): Promise<void>;
}

/** What DynamoDB's own numbers and nesting do not hold, and JSON does. */
const anyJson = {
  numbers: [1, -0.5, 0, 1e21, 2 ** 53 + 2, 1.7976931348623157e308, 5e-324, 0.1 + 0.2],
  others: [null, true, "", "ä\u0000", [], {}],
  "": { "a.b#c": 1, constructor: 2 },
  deep: JSON.parse(`${"[".repeat(60)}${"]".repeat(60)}`) as unknown,
};

const start = Date.parse("2027-01-01T00:00:00.000Z");
const at = (seconds: number) => iso(start + seconds * 1000);
const freshTenant = () => `tenant-${randomUUID()}`;
const ids = (records: readonly TaskRecord[]) => records.map(({ task_id }) => task_id);

/** Newest first by a time, and by id within one. */
const newest = (records: readonly TaskRecord[], time: (record: TaskRecord) => string | undefined) =>
  records.toSorted((a, b) => (`${time(a)}#${a.task_id}` < `${time(b)}#${b.task_id}` ? 1 : -1));

/** Follows a list to its end, with the limits that are given in turn. */
async function readAll(
  read: (limit: number, from: string | undefined) => Promise<Page<TaskRecord>>,
  limits: readonly number[] = [100],
): Promise<TaskRecord[]> {
  const items: TaskRecord[] = [];
  let from: string | undefined;
  let pages = 0;
  do {
    const limit = limits[pages % limits.length] ?? 1;
    const page = await read(limit, from);
    expect(page.items.length).toBeLessThanOrEqual(limit);
    items.push(...page.items);
    from = page.next;
    pages += 1;
  } while (from !== undefined && pages < 2000);
  expect(from).toBeUndefined();
  return items;
}

/**
 * The promises of the table, for every implementation.
 * @param only Absent: all. Some settings concern the lists alone.
 */
export function describeRecords(name: string, make: () => Promise<RecordsUnderTest>, only?: "lists"): void {
  describe(name, () => {
    let under: RecordsUnderTest;
    const records = () => under.records;
    beforeAll(async () => {
      under = await make();
    });
    afterAll(() => under.close());

    /** Writes records of one fresh tenant. */
    const written = async (many: readonly Partial<TaskRecord>[], tenant_id = freshTenant()) => {
      const all = many.map((more) => newRecord({ ...more, tenant_id }));
      for (let first = 0; first < all.length; first += 50) {
        await Promise.all(all.slice(first, first + 50).map((record) => records().create(record, at(0))));
      }
      return { tenantId: tenant_id, all };
    };
    const one = async (more: Partial<TaskRecord> = {}) => {
      const { all } = await written([more]);
      return all[0] as TaskRecord;
    };

    describe("list", { concurrent: true }, () => {
      const listed = (tenantId: string, more: object = {}, limits?: readonly number[]) =>
        readAll((limit, from) => records().list({ tenantId, limit, from, ...more }), limits);

      test("the list has the tenant's records, newest first", async () => {
        const { tenantId, all } = await written(Array.from({ length: 12 }, (_, index) => ({ created_at: at(index) })));
        await written([{}]);
        expect(await listed(tenantId)).toEqual(all.toReversed());
      });

      test("the list of a tenant without records is empty", async () => {
        expect(await records().list({ tenantId: freshTenant(), limit: 10 })).toEqual({ items: [], next: undefined });
      });

      test("the list has records of the same moment in one order, each once", async () => {
        const { tenantId, all } = await written(Array.from({ length: 15 }, () => ({})));
        const expected = ids(newest(all, (record) => record.created_at));
        expect(ids(await listed(tenantId, {}, [1]))).toEqual(expected);
        expect(ids(await listed(tenantId, {}, [4]))).toEqual(expected);
      });

      test("the list has the records as they are now", async () => {
        const record = await one();
        await records().change(record, { when: {}, set: { status: "failed", error: "no" } });
        expect(await listed(record.tenant_id)).toEqual([{ ...record, status: "failed", error: "no" }]);
      });

      test("the list of one submitter has its own records", async () => {
        const { tenantId, all } = await written([
          { requested_by: "sam", own_list: true, created_at: at(1) },
          { requested_by: "sam", own_list: true, created_at: at(2) },
          { requested_by: "sam", created_at: at(3) },
          { requested_by: "sue", own_list: true, created_at: at(4) },
        ]);
        expect(await listed(tenantId, { requestedBy: "sam" })).toEqual([all[1], all[0]]);
        expect(await listed(tenantId, { requestedBy: "sam" }, [1])).toEqual([all[1], all[0]]);
        expect(await listed(tenantId, { requestedBy: "olga" })).toEqual([]);
        expect(await listed(freshTenant(), { requestedBy: "sam" })).toEqual([]);
      });

      test("the list filters by type and priority, however few records fit", async () => {
        const { tenantId, all } = await written(
          Array.from({ length: 60 }, (_, index) => ({
            created_at: at(index),
            type: index % 20 === 0 ? "rare" : "common",
            priority: index % 40 === 0 ? ("low" as const) : ("high" as const),
          })),
        );
        const rare = all.filter(({ type }) => type === "rare").toReversed();
        expect(await listed(tenantId, { type: "rare" }, [1])).toEqual(rare);
        expect(await listed(tenantId, { priority: "low" }, [7])).toEqual([all[40], all[0]]);
        expect(await listed(tenantId, { type: "rare", priority: "high" })).toEqual([all[20]]);
        expect(await listed(tenantId, { type: "none" }, [3])).toEqual([]);
      });

      test.each([
        ["from a time on, included", { createdAfter: at(3) }, [5, 4, 3]],
        ["up to a time, excluded", { createdBefore: at(2) }, [1, 0]],
        ["between two times", { createdAfter: at(1), createdBefore: at(4) }, [3, 2, 1]],
        [
          "between two times with a rest of milliseconds",
          { createdAfter: at(1.001), createdBefore: at(3.001) },
          [3, 2],
        ],
        ["in an interval that holds nothing", { createdAfter: at(2.001), createdBefore: at(2.999) }, []],
        ["in an interval without length", { createdAfter: at(2), createdBefore: at(2) }, []],
        ["in an interval whose end is before its start", { createdAfter: at(4), createdBefore: at(1) }, []],
      ])("the list reads %s", async (_, bounds, seconds) => {
        const { tenantId, all } = await written(Array.from({ length: 6 }, (_, index) => ({ created_at: at(index) })));
        const expected = seconds.map((second) => all[second]);
        expect(await listed(tenantId, bounds)).toEqual(expected);
        expect(await listed(tenantId, bounds, [1])).toEqual(expected);
      });

      test("pages through hundreds of records are complete and in order, whatever the limits, bounds and filters", async () => {
        const { tenantId, all } = await written(
          Array.from({ length: 300 }, (_, index) => ({
            // Some share their moment.
            created_at: at(Math.floor(index / 3)),
            type: index % 4 === 0 ? "a" : "b",
            requested_by: "sam",
            ...(index % 5 === 0 ? { own_list: true as const } : {}),
          })),
        );
        const ordered = newest(all, (record) => record.created_at);
        const anyTime = fc.option(fc.integer({ min: -5, max: 105 }).map(at), { nil: undefined });
        await fc.assert(
          fc.asyncProperty(
            fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 4 }),
            anyTime,
            anyTime,
            fc.constantFrom("a", "b", undefined),
            fc.boolean(),
            async (limits, createdAfter, createdBefore, type, own) => {
              const query = { createdAfter, createdBefore, type, requestedBy: own ? "sam" : undefined };
              const expected = ordered.filter(
                (record) =>
                  (createdAfter === undefined || record.created_at >= createdAfter) &&
                  (createdBefore === undefined || record.created_at < createdBefore) &&
                  (type === undefined || record.type === type) &&
                  (!own || record.own_list === true),
              );
              expect(ids(await listed(tenantId, query, limits))).toEqual(ids(expected));
            },
          ),
          { numRuns: 15 },
        );
      });

      test("a list continues at its place when records are added and changed in between", async () => {
        const { tenantId, all } = await written(Array.from({ length: 40 }, (_, index) => ({ created_at: at(index) })));
        const seen: TaskRecord[] = [];
        let from: string | undefined;
        do {
          const page = await records().list({ tenantId, limit: 7, from });
          seen.push(...page.items);
          from = page.next;
          await written([{ created_at: at(100 + seen.length) }], tenantId);
          await records().change(all[0] as TaskKey, { when: {}, set: { updated_at: at(200 + seen.length) } });
        } while (from !== undefined);
        expect(ids(seen)).toEqual(ids(all.toReversed()));
      });
    });

    describe("listDeadLetters", { concurrent: true }, () => {
      const listed = (tenantId: string, more: object = {}, limits?: readonly number[]) =>
        readAll((limit, from) => records().listDeadLetters({ tenantId, limit, from, ...more }), limits);
      const die = (key: TaskKey, time: string) =>
        records().change(key, { when: {}, set: { status: "failed", dead_letter_at: time } });

      test("a task appears when it dies and disappears with a new round", async () => {
        const record = await one();
        const tenantId = record.tenant_id;
        expect(await listed(tenantId)).toEqual([]);
        await die(record, at(1));
        expect(await listed(tenantId)).toEqual([{ ...record, status: "failed", dead_letter_at: at(1) }]);
        await records().change(record, {
          when: {},
          set: { status: "pending" },
          remove: ["dead_letter_at"],
          add: { round: 1 },
        });
        expect(await listed(tenantId)).toEqual([]);
        expect(await records().get(record)).toEqual({ ...record, round: 2 });
        await die(record, at(9));
        expect(await listed(tenantId)).toMatchObject([{ dead_letter_at: at(9), round: 2 }]);
      });

      test("a record that is created as a dead letter is in the list, and disappears with a new round", async () => {
        const record = newRecord({ tenant_id: randomUUID(), status: "failed", dead_letter_at: at(1) });
        await records().create(record, at(2));
        expect(await listed(record.tenant_id)).toEqual([record]);
        await records().change(record, { when: {}, set: { status: "pending" }, remove: ["dead_letter_at"] });
        expect(await listed(record.tenant_id)).toEqual([]);
      });

      test("a death that is refused puts nothing into the list", async () => {
        const record = await one({ status: "completed" });
        const change: Change = { when: { status: { is: "processing" } }, set: { dead_letter_at: at(1) } };
        expect(await records().change(record, change)).toMatchObject({ done: false });
        expect(await listed(record.tenant_id)).toEqual([]);
      });

      test("the list has the tenant's newest death first, whatever the order of creation", async () => {
        const { tenantId, all } = await written(Array.from({ length: 9 }, (_, index) => ({ created_at: at(index) })));
        const deaths = all.map((record, index) => ({ record, time: at(100 + ((index * 5) % 9)) }));
        await Promise.all(deaths.map(({ record, time }) => die(record, time)));
        await die(await one(), at(105));
        const expected = deaths.toSorted((a, b) => (a.time < b.time ? 1 : -1)).map(({ record }) => record.task_id);
        expect(ids(await listed(tenantId))).toEqual(expected);
        expect(ids(await listed(tenantId, {}, [2]))).toEqual(expected);
      });

      test.each([
        ["from a time on, included", { failedAfter: at(12) }, [3, 2]],
        ["up to a time, excluded", { failedBefore: at(12) }, [1, 0]],
        ["between two times", { failedAfter: at(11), failedBefore: at(13) }, [2, 1]],
        ["in an interval without length", { failedAfter: at(12), failedBefore: at(12) }, []],
        ["in an interval whose end is before its start", { failedAfter: at(13), failedBefore: at(11) }, []],
      ])("the list reads those %s", async (_, bounds, places) => {
        const { tenantId, all } = await written(Array.from({ length: 4 }, () => ({})));
        await Promise.all(all.map((record, index) => die(record, at(10 + index))));
        expect(ids(await listed(tenantId, bounds))).toEqual(places.map((place) => all[place]?.task_id));
      });

      test("pages through hundreds of dead letters are complete and in order", async () => {
        const { tenantId, all } = await written(Array.from({ length: 220 }, () => ({})));
        const time = (index: number) => at(Math.floor(index / 4));
        for (let first = 0; first < all.length; first += 50) {
          const some = all.slice(first, first + 50);
          await Promise.all(some.map((record, index) => die(record, time(first + index))));
        }
        const died = new Map(all.map((record, index) => [record.task_id, time(index)]));
        const expected = ids(newest(all, (record) => died.get(record.task_id)));
        await fc.assert(
          fc.asyncProperty(
            fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 3 }),
            async (limits) => {
              expect(ids(await listed(tenantId, {}, limits))).toEqual(expected);
            },
          ),
          { numRuns: 4 },
        );
      });
    });

    if (only === "lists") return;

    describe("create and get", { concurrent: true }, () => {
      test("a record comes back as it was written, field by field", async () => {
        const record = await one({
          own_list: true,
          tags: { a: "ä", "b.c": "" },
          progress: 0,
          run_at: at(5),
          start_by: at(9),
          traceparent: "00-x",
          result: anyJson,
          result_ref: { part: 1, bytes: 0, content_type: "text/plain", file_name: "ä.txt" },
          history: [
            { round: 1, number: 1, started_at: at(0), finished_at: at(1), outcome: "retried", error: "é\u0000\n" },
          ],
        });
        expect(await records().get(record)).toEqual(record);
      });

      test.each(["constructor", "tostring", "prototype", "name", "pk", "s", "m"])(
        "a tag may be named %s",
        async (tag) => {
          const record = await one({ tags: { [tag]: "x" } });
          expect(await records().get(record)).toEqual(record);
        },
      );

      test("records are listed by a term: a tag's value, or a given correlation id, in lower case", async () => {
        const tenant = freshTenant();
        const make = async (second: number, more: Partial<TaskRecord>) => {
          const record = newRecord({ tenant_id: tenant, task_id: randomUUID(), created_at: at(second), ...more });
          await records().create(record, at(0));
          return record.task_id;
        };
        const value = `Ü#~ /${"v".repeat(240)}`;
        const made = [
          await make(1, { tags: { order: value } }),
          await make(2, { correlation_id: "Trace-1", correlation_given: true }),
          await make(3, { tags: { order: "other", region: value } }),
          await make(4, { correlation_id: "trace-1" }),
          await make(5, { tags: { order: value.slice(0, -1) } }),
        ];
        const found = async (term: string, more = {}) => {
          const { items, next } = await records().list({ tenantId: tenant, term, limit: 10, ...more });
          return { ids: items.map(({ task_id }) => task_id), next };
        };
        expect(await found(value.toLowerCase())).toEqual({ ids: [made[2], made[0]], next: undefined });
        expect(await found("trace-1")).toEqual({ ids: [made[1]], next: undefined });
        expect(await found(value.toLowerCase(), { createdAfter: at(2) })).toMatchObject({ ids: [made[2]] });
        expect((await records().list({ tenantId: freshTenant(), term: "trace-1", limit: 10 })).items).toEqual([]);
        const first = await records().list({ tenantId: tenant, term: value.toLowerCase(), limit: 1 });
        expect(first.items.map(({ task_id }) => task_id)).toEqual([made[2]]);
        expect(await found(value.toLowerCase(), { from: first.next })).toMatchObject({ ids: [made[0]] });
      });

      test("a record that exists stays, and is returned in place of the new one", async () => {
        const record = await one();
        const other = newRecord({ ...record, type: "other" });
        expect(await records().create(other, at(0))).toEqual(record);
        expect(await records().get(record)).toEqual(record);
      });

      test("one of fifty creates at the same time succeeds", async () => {
        const record = newRecord({ tenant_id: freshTenant() });
        const answers = await Promise.all(Array.from({ length: 50 }, () => records().create(record, at(0))));
        expect(answers.filter((answer) => answer === undefined)).toHaveLength(1);
        for (const answer of answers.filter((answer) => answer !== undefined)) expect(answer).toEqual(record);
      });

      test("a record whose purge time has come is overwritten as if it were gone", async () => {
        const purge_at = start / 1000 + 60;
        const old = await one({ purge_at, dead_letter_at: at(1), error: "old" });
        const fresh = newRecord({ tenant_id: old.tenant_id, task_id: old.task_id, created_at: at(50) });
        expect(await records().create(fresh, at(59.999))).toEqual(old);
        expect(await records().create(fresh, at(60))).toBeUndefined();
        expect(await records().get(old)).toEqual(fresh);
        const tenantId = old.tenant_id;
        expect((await records().listDeadLetters({ tenantId, limit: 10 })).items).toEqual([]);
      });

      test("a late repeat of its create does not bring a withdrawn record back", async () => {
        const record = await one();
        const withdrawn = { set: { purge_at: start / 1000 - 10 }, when: { status: { is: "pending" } } } as const;
        await records().change(record, withdrawn);
        expect(await records().create(record, at(0))).toMatchObject({ purge_at: start / 1000 - 10 });
        expect(await records().get(record, "consistently")).toMatchObject({ purge_at: start / 1000 - 10 });
      });

      test("a record is not found under another tenant or id", async () => {
        const record = await one();
        expect(await records().get({ ...record, tenant_id: freshTenant() })).toBeUndefined();
        expect(await records().get({ ...record, task_id: randomUUID() })).toBeUndefined();
      });

      test("many records come in the order of their keys, with gaps and repeats", async () => {
        const tenant = freshTenant();
        const made = Array.from({ length: 98 }, () => newRecord({ tenant_id: tenant, task_id: randomUUID() }));
        for (const record of made) await records().create(record, at(0));
        const none = { tenant_id: tenant, task_id: randomUUID() };
        const [first] = made;
        const wanted = [none, ...made.toReversed(), ...(first === undefined ? [] : [first])];
        expect(await records().getMany(wanted)).toEqual([undefined, ...made.toReversed(), first]);
        expect(await records().getMany([])).toEqual([]);
      });

      test("the same id in another tenant is another record", async () => {
        const record = await one();
        const other = newRecord({ task_id: record.task_id, tenant_id: freshTenant(), type: "other" });
        expect(await records().create(other, at(0))).toBeUndefined();
        expect([await records().get(record), await records().get(other)]).toEqual([record, other]);
      });
    });

    describe("change", { concurrent: true }, () => {
      const attempt = { round: 1, number: 1, started_at: at(0), finished_at: at(1), outcome: "completed" } as const;

      test("a change that succeeds returns the changed record", async () => {
        const record = await one({ progress: 5, start_by: at(9) });
        const change: Change = {
          when: { status: { is: "pending" }, start_by: { above: at(0), orAbsent: true } },
          set: { status: "processing", lease_until: at(30), outcome: undefined },
          remove: ["progress", "start_by"],
          add: { attempts: 1, attempts_total: 1 },
          append: attempt,
        };
        const expected = applyChange(record, change);
        expect(await records().change(record, change)).toEqual({ done: true, record: expected });
        expect(await records().get(record)).toEqual(expected);
      });

      test("a change that is refused returns the present record, and changes nothing", async () => {
        const record = await one();
        const change: Change = { when: { status: { is: "failed" } }, set: { status: "pending" } };
        expect(await records().change(record, change)).toEqual({ done: false, record });
        expect(await records().get(record)).toEqual(record);
      });

      test("a change never creates a record", async () => {
        const key = { tenant_id: freshTenant(), task_id: randomUUID() };
        expect(await records().change(key, { when: {}, set: { progress: 1 } })).toEqual({
          done: false,
          record: undefined,
        });
        expect(await records().get(key)).toBeUndefined();
      });

      test("one of twenty claims at the same time succeeds", async () => {
        const record = await one();
        const claim: Change = {
          when: { status: { is: "pending" } },
          set: { status: "processing" },
          add: { attempts: 1, attempts_total: 1 },
        };
        const answers = await Promise.all(Array.from({ length: 20 }, () => records().change(record, claim)));
        expect(answers.filter(({ done }) => done)).toHaveLength(1);
        expect(await records().get(record)).toMatchObject({ status: "processing", attempts: 1, attempts_total: 1 });
      });

      test("changes at the same time are all counted", async () => {
        const record = await one();
        await Promise.all(
          Array.from({ length: 20 }, () =>
            records().change(record, { when: {}, add: { attempts: 1 }, append: attempt }),
          ),
        );
        const after = await records().get(record);
        expect([after?.attempts, after?.history.length]).toEqual([20, 20]);
      });

      test("any change does the same in the table as in memory", async () => {
        await fc.assert(
          fc.asyncProperty(anyRecord, anyChange, async (more, change) => {
            const record = newRecord({ ...more, tenant_id: freshTenant() });
            await records().create(record, at(0));
            const expected = applyChange(record, change);
            const changed = await records().change(record, change);
            expect(changed).toEqual({ done: expected !== undefined, record: expected ?? record });
            expect(await records().get(record)).toEqual(expected ?? record);
          }),
          { numRuns: 60 },
        );
      });
    });

    describe("parts", { concurrent: true }, () => {
      const purgeAt = start / 1000 + 1000;

      test.each<[string, unknown]>([
        ["an envelope", envelopeOf(newRecord(), { a: [1, null, { b: "ä" }] })],
        ["text", '{"a":1}'],
        ["an empty list", []],
        ["attempts", [{ round: 1, number: 1, started_at: at(0), finished_at: at(1), outcome: "failed", error: "x" }]],
        ["text of 300 KiB", '"\\'.repeat(150 * 1024)],
        ["empty text", ""],
        [
          "an envelope with every kind of character",
          envelopeOf(newRecord(), "\ufffe\uffff\0\u0001\ud800 \udc00\u{1fffe}🧾"),
        ],
        ["an envelope with any JSON", envelopeOf(newRecord(), anyJson)],
      ])("%s comes back as it was saved", async (_, value) => {
        const record = await one();
        await records().savePart(record, "envelope", value, purgeAt);
        expect(await records().loadPart(record, "envelope")).toEqual(value);
      });

      test.each([0, 1, 1000, 300 * 1024])("%i bytes come back as bytes", async (length) => {
        const record = await one();
        const bytes = Uint8Array.from({ length }, (_, index) => index % 256);
        await records().savePart(record, "result#1", bytes, purgeAt);
        const loaded = await records().loadPart(record, "result#1");
        expect(loaded).toBeInstanceOf(Uint8Array);
        expect(Buffer.compare(loaded as Uint8Array, bytes)).toBe(0);
      });

      test("a part that is saved again replaces the earlier one", async () => {
        const record = await one();
        await records().savePart(record, "round#1", ["a", "b"], purgeAt);
        await records().savePart(record, "round#1", ["c"], purgeAt);
        expect(await records().loadPart(record, "round#1")).toEqual(["c"]);
      });

      test.each<[string, unknown, unknown]>([
        ["JSON", ["a"], ["c"]],
        ["JSON in place of text", "a", { c: 1 }],
        ["bytes in place of JSON", ["a"], Uint8Array.from([1])],
        ["text in place of bytes", Uint8Array.from([1]), ""],
      ])("a part that is saved again for a shorter time is kept for the longer one: %s", async (_, earlier, value) => {
        const record = await one();
        await records().savePart(record, "round#1", earlier, purgeAt + 2);
        await records().savePart(record, "round#1", value, purgeAt);
        expect(await records().loadPart(record, "round#1")).toEqual(value);
        expect(await under.purgeAtOf(record, "round#1")).toBe(purgeAt + 2);
        await records().savePart(record, "round#1", value, purgeAt + 3);
        expect(await under.purgeAtOf(record, "round#1")).toBe(purgeAt + 3);
      });

      test("a part that is kept for longer has the value that it has by then, and is never kept for a shorter time", async () => {
        const record = await one();
        await records().savePart(record, "result#1", null, purgeAt);
        await records().keepPart(record, "result#1", purgeAt + 2);
        expect(await records().loadPart(record, "result#1")).toBeNull();
        expect(await under.purgeAtOf(record, "result#1")).toBe(purgeAt + 2);
        await records().keepPart(record, "result#1", purgeAt + 1);
        expect(await under.purgeAtOf(record, "result#1")).toBe(purgeAt + 2);
        expect(await records().loadPart(record, "result#1")).toBeNull();
      });

      test("a part that does not exist is not made by keeping it", async () => {
        const record = await one();
        await records().keepPart(record, "envelope", purgeAt);
        expect(await records().loadPart(record, "envelope")).toBeUndefined();
        expect(await under.purgeAtOf(record, "envelope")).toBeUndefined();
      });

      test("each part belongs to its own task and tenant", async () => {
        const [a, b] = [await one(), await one()];
        await records().savePart(a, "result#1", "a1", purgeAt);
        await records().savePart(a, "result#2", "a2", purgeAt);
        await records().savePart(b, "result#1", "b1", purgeAt);
        expect(await records().loadPart(a, "result#1")).toBe("a1");
        expect(await records().loadPart(a, "result#2")).toBe("a2");
        expect(await records().loadPart(b, "result#1")).toBe("b1");
        expect(await records().loadPart(b, "result#2")).toBeUndefined();
        expect(await records().loadPart({ ...a, tenant_id: b.tenant_id }, "result#1")).toBeUndefined();
      });

      test("a part changes nothing in the record, and needs no record", async () => {
        const record = await one();
        await records().savePart(record, "envelope", { a: 1 }, purgeAt);
        expect(await records().get(record)).toEqual(record);
        expect((await records().list({ tenantId: record.tenant_id, limit: 10 })).items).toEqual([record]);
        const none = { tenant_id: freshTenant(), task_id: randomUUID() };
        await records().savePart(none, "envelope", { a: 1 }, purgeAt);
        expect(await records().get(none)).toBeUndefined();
        expect(await records().loadPart(none, "envelope")).toEqual({ a: 1 });
      });
    });
  });
}

const anyTime = fc.integer({ min: 0, max: 5 }).map(at);
const anyCount = fc.nat(3);
const anyStatus = fc.constantFrom("pending", "processing", "completed", "failed");

/** Fields of a record that a change may meet; each may also be absent where a record can lack it. */
const anyRecord: fc.Arbitrary<Partial<TaskRecord>> = fc
  .record({
    status: anyStatus,
    attempts: anyCount,
    attempts_total: anyCount,
    round: anyCount,
    due_at: anyTime,
    purge_at: anyCount,
    start_by: fc.option(anyTime, { nil: undefined }),
    lease_until: fc.option(anyTime, { nil: undefined }),
    progress: fc.option(anyCount, { nil: undefined }),
    error: fc.option(fc.constantFrom("a", "b", ""), { nil: undefined }),
  })
  .map((fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)));

const anyTest = (value: fc.Arbitrary<string | number>): fc.Arbitrary<Test> =>
  fc.oneof(
    value.map((is) => ({ is })),
    fc.array(value, { minLength: 1, maxLength: 3 }).map((list) => ({ in: list })),
    value.map((atMost) => ({ atMost })),
    value.map((atMost) => ({ atMost, orAbsent: true as const })),
    value.map((above) => ({ above })),
    value.map((above) => ({ above, orAbsent: true as const })),
    fc.constant({ absent: true as const }),
  );

const anyAttempt = fc.record({
  round: anyCount,
  number: anyCount,
  started_at: anyTime,
  finished_at: anyTime,
  outcome: fc.constantFrom("completed", "retried", "crashed"),
});

/** Changes as the core makes them: none names a field twice. */
const anyChange: fc.Arbitrary<Change> = fc.record(
  {
    when: fc.record(
      {
        status: anyTest(anyStatus),
        attempts_total: anyTest(anyCount),
        due_at: anyTest(anyTime),
        purge_at: anyTest(anyCount),
        start_by: anyTest(anyTime),
        lease_until: anyTest(anyTime),
        progress: anyTest(anyCount),
      },
      { requiredKeys: [] },
    ),
    set: fc.record(
      {
        status: anyStatus,
        updated_at: anyTime,
        due_at: anyTime,
        outcome: fc.option(fc.constant("CREATED"), { nil: undefined }),
        result: fc.jsonValue({ maxDepth: 2 }).map((value): unknown => JSON.parse(JSON.stringify(value))),
        needs_review: fc.constant(true as const),
        history: fc.array(anyAttempt, { maxLength: 2 }),
      },
      { requiredKeys: ["updated_at"] },
    ),
    remove: fc.uniqueArray(fc.constantFrom("start_by", "lease_until", "progress", "error"), { maxLength: 4 }),
    add: fc.record(
      { attempts: anyCount, attempts_total: anyCount, round: anyCount, signals: anyCount },
      { requiredKeys: [] },
    ),
    append: anyAttempt,
  },
  { requiredKeys: ["when", "set"] },
) as fc.Arbitrary<Change>;
