import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { expect, test } from "vitest";
import { tableClient } from "../../src/aws/clients.ts";
import { DynamoDBDocumentClient as LeanDocumentClient } from "../../src/aws/lean/lib-dynamodb.ts";
import { emulatedTable } from "./emulators.ts";

test("the suites run on the SDK's clients in one project, and on the bundles' own clients in the other", async ({
  task,
}) => {
  const { close } = await emulatedTable();
  const Client = task.file.projectName === "contract-lean" ? LeanDocumentClient : DynamoDBDocumentClient;
  expect(tableClient()).toBeInstanceOf(Client);
  await close();
});
