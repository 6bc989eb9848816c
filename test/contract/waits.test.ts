import { expect, test } from "vitest";
import { DynamoWaits, waitSlot } from "../../src/aws/waits.ts";
import { MemoryWaits } from "../../src/memory/waits.ts";
import { emulatedTable } from "./emulators.ts";
import { describeWaits } from "./waits.ts";

describeWaits("places of waiting requests in memory", async () => ({
  make: (places) => new MemoryWaits(places),
  close: async () => {},
}));

describeWaits("places of waiting requests in DynamoDB", async () => {
  const { dynamoTable, close } = await emulatedTable();
  return { make: (places) => new DynamoWaits(dynamoTable, places), close };
});

test("the tenants of these tests have attributes of their own in an interval's item", () => {
  const tenants = ["acme", "globex", "initech", "umbrella", "hooli"];
  expect(new Set(tenants.map(waitSlot)).size).toBe(tenants.length);
});
