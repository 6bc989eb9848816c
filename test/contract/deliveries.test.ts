import { DynamoDeliveries, DynamoSlowHosts } from "../../src/aws/deliveries-store.ts";
import { MemoryDeliveries, MemorySlowHosts } from "../../src/memory/deliveries.ts";
import { describeDeliveries } from "./deliveries.ts";
import { emulatedTable } from "./emulators.ts";

describeDeliveries("deliveries in memory", async () => ({
  deliveries: new MemoryDeliveries(),
  slowHosts: new MemorySlowHosts(),
  close: async () => {},
}));

describeDeliveries("deliveries in DynamoDB", async () => {
  const { dynamoTable, close } = await emulatedTable();
  return {
    deliveries: new DynamoDeliveries(dynamoTable),
    slowHosts: new DynamoSlowHosts(dynamoTable),
    close,
  };
});
