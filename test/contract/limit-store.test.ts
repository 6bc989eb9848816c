import { afterEach, beforeEach, describe } from "vitest";
import { DynamoLimitEditor } from "../../src/aws/limit-editor.ts";
import { DynamoLimitStore } from "../../src/aws/limit-store.ts";
import { MemoryLimits } from "../../src/memory/limits.ts";
import { emulatedTable } from "./emulators.ts";
import { limitStoreContract } from "./limit-store.ts";

describe("limits in memory", () =>
  limitStoreContract(() => {
    const both = new MemoryLimits();
    return { store: both, editor: both };
  }));

describe("limits in the table", () => {
  let emulated: Awaited<ReturnType<typeof emulatedTable>>;
  beforeEach(async () => {
    emulated = await emulatedTable();
  });
  afterEach(() => emulated.close());
  limitStoreContract(() => ({
    store: new DynamoLimitStore(emulated.dynamoTable),
    editor: new DynamoLimitEditor(emulated.dynamoTable),
  }));
});
