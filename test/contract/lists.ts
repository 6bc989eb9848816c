import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ListInput, ListKey, Lists } from "../../src/core/ports/unique.ts";

/** An implementation of `Lists`. */
export interface ListsUnderTest {
  lists: Lists;
  close(): Promise<void>;
}

const purgeAt = 2_000_000_000;
const start = { number: 1, first: 1, bytesBefore: 0 };
const room = { bytes: 20, inputs: 5 };

const inputOf = (text: string, id = randomUUID()): ListInput => ({ id, text });

/** The promises of lists of collected inputs, for every implementation. */
export function describeLists(name: string, make: () => Promise<ListsUnderTest>): void {
  describe(name, { concurrent: true }, () => {
    let under: ListsUnderTest;
    beforeAll(async () => {
      under = await make();
    });
    afterAll(() => under.close());

    const freshList = (): ListKey => ({
      tenant_id: "acme",
      task_id: randomUUID(),
      created_at: "2027-01-01T00:00:00.000Z",
    });

    test("a list without inputs has no pages", async () => {
      const list = freshList();
      expect(await under.lists.last(list)).toBeUndefined();
      expect(await under.lists.page(list, 1)).toBeUndefined();
      expect(await under.lists.all(list)).toEqual([]);
    });

    test("a page has its inputs in the order in which they were added", async () => {
      const list = freshList();
      const inputs = ['"ä𝄞"', "2", "null"].map((text) => inputOf(text));
      for (const one of inputs) await under.lists.add(list, start, [one], room, purgeAt);
      const page = {
        ...start,
        ids: inputs.map(({ id }) => id),
        inputs: ['"ä𝄞"', "2", "null"],
        bytes: 13,
        closed: false,
      };
      expect(await under.lists.last(list)).toEqual(page);
      expect(await under.lists.page(list, 1)).toEqual(page);
      expect(await under.lists.all(list)).toEqual([page]);
      const later = { ...list, created_at: "2027-01-02T00:00:00.000Z" };
      for (const other of [later, { ...list, tenant_id: "globex" }]) expect(await under.lists.all(other)).toEqual([]);
    });

    test("of thirty inputs that are added at the same time, a page takes as many as it has room for", async () => {
      const list = freshList();
      const inputs = Array.from({ length: 30 }, (_, n) => inputOf(`${n}`));
      const pages = await Promise.all(inputs.map((one) => under.lists.add(list, start, [one], room, purgeAt)));
      const added = inputs.filter(({ id }, index) => pages[index]?.ids.includes(id));
      expect(added).toHaveLength(5);
      expect((await under.lists.last(list))?.ids.toSorted()).toEqual(added.map(({ id }) => id).toSorted());
    });

    test("a page with enough bytes takes no more, and one input may be larger than a page", async () => {
      const list = freshList();
      await under.lists.add(list, start, [inputOf('"a text of thirty characters!"')], room, purgeAt);
      const page = await under.lists.add(list, start, [inputOf("2")], room, purgeAt);
      expect(page).toMatchObject({ inputs: ['"a text of thirty characters!"'], bytes: 30 });
    });

    test("an input that a page has is not added again", async () => {
      const list = freshList();
      const one = inputOf("1");
      for (let times = 0; times < 3; times++) await under.lists.add(list, start, [one], room, purgeAt);
      expect(await under.lists.last(list)).toMatchObject({ inputs: ["1"], bytes: 1 });
    });

    test("several inputs are added together, or none of them", async () => {
      const list = freshList();
      await under.lists.add(list, start, [inputOf("1"), inputOf("2"), inputOf("3")], room, purgeAt);
      const page = await under.lists.add(list, start, [inputOf("4"), inputOf("5"), inputOf("6")], room, purgeAt);
      expect(page.inputs).toEqual(["1", "2", "3"]);
    });

    test("a closed page takes no input, and keeps those that it has", async () => {
      const list = freshList();
      await under.lists.add(list, start, [inputOf("1")], room, purgeAt);
      for (let times = 0; times < 2; times++) {
        expect(await under.lists.close(list, start, room.bytes, purgeAt)).toMatchObject({
          closed: true,
          inputs: ["1"],
        });
      }
      const page = await under.lists.add(list, start, [inputOf("2")], room, purgeAt);
      expect(page).toMatchObject({ closed: true, inputs: ["1"] });
    });

    test("a page is closed before it has begun, and a full page is not closed", async () => {
      const list = freshList();
      await under.lists.add(list, start, [inputOf('"a text of thirty characters!"')], room, purgeAt);
      expect(await under.lists.close(list, start, room.bytes, purgeAt)).toMatchObject({ closed: false });
      const next = { number: 2, first: 2, bytesBefore: 30 };
      const end = { ...next, ids: [], inputs: [], bytes: 0, closed: true };
      expect(await under.lists.close(list, next, room.bytes, purgeAt)).toEqual(end);
      expect(await under.lists.last(list)).toEqual(end);
      expect((await under.lists.all(list)).map(({ number }) => number)).toEqual([1, 2]);
      expect(await under.lists.add(list, next, [inputOf("2")], room, purgeAt)).toEqual(end);
    });

    test("pages come in the order of their numbers", async () => {
      const list = freshList();
      for (const number of [10, 2, 1, 9, 1000]) {
        await under.lists.add(list, { number, first: number, bytesBefore: 0 }, [inputOf(`${number}`)], room, purgeAt);
      }
      expect((await under.lists.all(list)).map(({ number }) => number)).toEqual([1, 2, 9, 10, 1000]);
      expect(await under.lists.last(list)).toMatchObject({ number: 1000 });
      await under.lists.keep(list, purgeAt + 1000);
      expect(await under.lists.all(list)).toHaveLength(5);
    });
  });
}
