import { DynamoReceivers } from "../../src/aws/receivers.ts";
import { MemoryReceivers } from "../../src/memory/receivers.ts";
import { emulatedTable } from "./emulators.ts";
import { describeReceivers } from "./receivers.ts";

describeReceivers("receivers in memory", async () => ({ receivers: new MemoryReceivers(), close: async () => {} }));

describeReceivers("receivers in DynamoDB", async () => {
  const { dynamoTable, close } = await emulatedTable();
  return { receivers: new DynamoReceivers(dynamoTable), close };
});
