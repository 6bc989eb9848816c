import { ScanCommand } from "@aws-sdk/lib-dynamodb";
import { expect, test } from "vitest";
import { DynamoTable } from "../../src/aws/dynamo-table.ts";
import { DynamoFlowSettings } from "../../src/aws/flow-settings.ts";
import { MemoryFlowSettings } from "../../src/memory/flow-settings.ts";
import { emulatedTable } from "./emulators.ts";
import { describeFlowSettings } from "./flow-settings.ts";

describeFlowSettings("settings of flow in memory", async () => ({
  settings: new MemoryFlowSettings(),
  close: async () => {},
}));

describeFlowSettings("settings of flow in DynamoDB", async () => {
  const { dynamoTable, close } = await emulatedTable();
  return { settings: new DynamoFlowSettings(dynamoTable), close };
});

test("the table deletes a guard of a resume with its end, whether it was put or counted", async () => {
  const { documents, table, dynamoTable, close } = await emulatedTable();
  const settings = new DynamoFlowSettings(dynamoTable);
  const untilMs = 1_800_000_000_500;
  await settings.put({ kind: "breaker", name: "guard/pause/type/a", failures: 0, guardsUntilMs: untilMs });
  await settings.countForGuard("guard/pause/type/a/b", untilMs);
  const { Items = [] } = await documents.send(new ScanCommand({ TableName: table }));
  expect(Items.map(({ sk, purge_at }) => [sk, purge_at]).sort()).toEqual([
    ["guard/pause/type/a", 1_800_000_001],
    ["guard/pause/type/a/b", 1_800_000_001],
  ]);
  await close();
});

test("a breaker that closes between a failure's two writes stays closed", async () => {
  const { documents, table, dynamoTable, close } = await emulatedTable();
  const settings = new DynamoFlowSettings(dynamoTable);
  let updates = 0;
  const send = async (command: { constructor: { name: string } }) => {
    if (command.constructor.name === "UpdateCommand" && ++updates === 2) await settings.remove("breaker/a/b");
    return documents.send(command as never);
  };
  const counted = await new DynamoFlowSettings(new DynamoTable({ send } as never, table)).countFailure(
    "breaker/a/b",
    1,
    5,
    1,
  );
  expect(counted).toEqual({ kind: "breaker", name: "breaker/a/b", failures: 1 });
  expect(await settings.all()).toEqual([]);
  await close();
});
