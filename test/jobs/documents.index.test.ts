import { defineTask } from "offload";
import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import * as z from "zod";
import indexDocuments from "./tasks/documents.index.ts";
import relate from "./tasks/documents.relate.ts";
import { world } from "./tasks/lib/world.ts";

const makeDocuments = defineTask({
  name: "documents.make",
  input: z.strictObject({ count: z.int() }),
  handler: async ({ count }, task) => {
    for (let i = 1; i <= count; i += 1) {
      const input = { workspace: "w", id: `d${i}`, text: i === 2 ? "old" : `text ${i}`, related: i === 1 };
      await task.submit(indexDocuments, input, { unique: { key: "w", mode: "collect" } });
    }
  },
});
const kit = () => testKit([makeDocuments, indexDocuments, relate]);
const begin = () =>
  world.begin({
    "db/document": ({ id }) => (id === "d2" ? { text: "old", indexed: true } : null),
    "ai/embed": () => [[1]],
  });
const idsIndexed = () => world.of("vectors/upsert").map(({ ids }) => (ids as string[]).length);

test("forty documents are one call of 25 and one of 15, without those that are known", async () => {
  begin();
  await kit().run(makeDocuments, { count: 40 });
  expect(idsIndexed().sort()).toEqual([15, 24]);
  expect(world.of("graph/relate")).toEqual([{ workspace: "w", id: "d1" }]);
});

test("a store that fails is tried again with the same vectors", async () => {
  begin();
  world.refuse("vectors/upsert", [503]);
  await kit().run(makeDocuments, { count: 3 });
  expect([world.of("ai/embed").length, idsIndexed()]).toEqual([1, [2]]);
});
