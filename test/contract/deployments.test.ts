import { expect, test } from "vitest";
import { DynamoDeployments, deploymentKey } from "../../src/aws/deployments.ts";
import { MemoryDeployments } from "../../src/memory/deployments.ts";
import { describeDeployments } from "./deployments.ts";
import { emulatedTable } from "./emulators.ts";

describeDeployments("deployments in memory", async () => ({
  deployments: new MemoryDeployments(),
  close: async () => {},
}));

describeDeployments("deployments in DynamoDB", async () => {
  const { dynamoTable, close } = await emulatedTable();
  return { deployments: new DynamoDeployments(dynamoTable), close };
});

test("the TTL deletes a deployment after 90 days", async () => {
  const { dynamoTable, close } = await emulatedTable();
  const deployed_at = "2027-01-01T00:00:00.000Z";
  await new DynamoDeployments(dynamoTable).note({
    started_at: deployed_at,
    deployed_at,
    version: "1.0.0",
    rolled_back: false,
  });
  const item = await dynamoTable.get(deploymentKey(deployed_at));
  expect(item?.purge_at).toBe(Date.parse("2027-04-01T00:00:00.000Z") / 1000);
  await close();
});
