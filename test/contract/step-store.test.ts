import { DynamoStepStore } from "../../src/aws/step-store.ts";
import { MemoryStepStore } from "../../src/memory/steps.ts";
import { emulatedTable } from "./emulators.ts";
import { describeStepStore } from "./step-store.ts";

describeStepStore("steps in memory", async () => ({ steps: new MemoryStepStore(), close: async () => {} }));

describeStepStore("steps in DynamoDB", async () => {
  const { dynamoTable, close } = await emulatedTable();
  return { steps: new DynamoStepStore(dynamoTable), close };
});
