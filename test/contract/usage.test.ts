import { afterAll, beforeAll, describe } from "vitest";
import { DynamoUsage } from "../../src/aws/usage.ts";
import { MemoryUsage } from "../../src/memory/usage.ts";
import { emulatedTable } from "./emulators.ts";
import { usageContract } from "./usage.ts";

describe("usage in memory", () => usageContract(() => new MemoryUsage()));

describe("usage in the table", () => {
  let emulated: Awaited<ReturnType<typeof emulatedTable>>;
  beforeAll(async () => {
    emulated = await emulatedTable();
  });
  afterAll(() => emulated.close());
  usageContract(() => new DynamoUsage(emulated.dynamoTable));
});
