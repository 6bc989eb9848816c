import { DynamoChannels } from "../../src/aws/channels.ts";
import { MemoryChannels } from "../../src/memory/push.ts";
import { describeChannels } from "./channels.ts";
import { emulatedTable } from "./emulators.ts";

describeChannels("channels in memory", async () => ({ channels: new MemoryChannels(), close: async () => {} }));

describeChannels("channels in DynamoDB", async () => {
  const { dynamoTable, close } = await emulatedTable();
  return { channels: new DynamoChannels(dynamoTable), close };
});
