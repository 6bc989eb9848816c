import { afterEach, beforeEach, describe } from "vitest";
import { DynamoKeyStore } from "../../src/aws/key-store.ts";
import { MemoryKeys } from "../../src/memory/keys.ts";
import { keyStoreContract } from "./api-keys.ts";
import { emulatedTable } from "./emulators.ts";

describe("API keys in memory", () => keyStoreContract(() => new MemoryKeys()));

describe("API keys in the table", () => {
  let emulated: Awaited<ReturnType<typeof emulatedTable>>;
  beforeEach(async () => {
    emulated = await emulatedTable();
  });
  afterEach(() => emulated.close());
  keyStoreContract(() => new DynamoKeyStore(emulated.dynamoTable));
});
