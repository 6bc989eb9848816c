import { expect, test } from "vitest";
import { DynamoCatalog } from "../../src/aws/catalog-store.ts";
import { emulatedTable } from "./emulators.ts";

test("the published catalogue is what was saved last, until it is deleted", async () => {
  const { dynamoTable, close } = await emulatedTable();
  try {
    const catalog = new DynamoCatalog(dynamoTable);
    expect(await catalog.load()).toBeUndefined();
    await catalog.save('[{"name":"old"}]');
    // Far above the 400 KB of an item.
    const large = JSON.stringify(Array.from({ length: 20_000 }, (_, index) => ({ name: `type.${index}`, ä: "€" })));
    await catalog.save(large);
    expect(await catalog.load()).toBe(large);
    await catalog.delete();
    await catalog.delete();
    expect(await catalog.load()).toBeUndefined();
  } finally {
    await close();
  }
});
