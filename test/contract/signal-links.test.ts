import { DynamoSignalLinks } from "../../src/aws/signal-links.ts";
import { MemorySignalLinks } from "../../src/memory/signal-links.ts";
import { emulatedTable } from "./emulators.ts";
import { describeSignalLinks } from "./signal-links.ts";

describeSignalLinks("links of signals in memory", async () => ({
  links: new MemorySignalLinks(),
  close: async () => {},
}));

describeSignalLinks("links of signals in DynamoDB", async () => {
  const { dynamoTable, close } = await emulatedTable();
  return { links: new DynamoSignalLinks(dynamoTable), close };
});
