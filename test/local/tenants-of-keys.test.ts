import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { afterEach, expect, test, vi } from "vitest";
import { DynamoTable } from "../../src/aws/dynamo-table.ts";
import { localServicesEnv } from "../../src/aws/local-services.ts";
import { DynamoTenants } from "../../src/aws/tenants.ts";
import { startTable } from "../../src/local/dynamodb/table.ts";
import { prepareTable } from "../../src/local/server/prepare.ts";
import { localTable } from "../../src/settings/config.ts";

afterEach(() => vi.unstubAllEnvs());

test("tenants of the local server's keys are known, so schedules for each tenant submit tasks for them", async () => {
  const { url, close } = await startTable({ port: 0, stateDir: undefined });
  const nowhere = "http://127.0.0.1:9";
  const others = { sqs: nowhere, scheduler: nowhere, cloudwatch: nowhere, s3: nowhere, eventbridge: nowhere };
  const services = localServicesEnv({ dynamodb: url, ...others, s3Secret: "none" });
  for (const [name, value] of Object.entries(services)) vi.stubEnv(name, value);
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const client = new DynamoDBClient({ endpoint: url, region: "us-east-1", credentials });
  try {
    const keys = "a:acme:operator,b:acme:submitter,c:globex:admin";
    await prepareTable(keys, () => {});
    await prepareTable(keys, () => {});
    const tenants = new DynamoTenants(new DynamoTable(DynamoDBDocumentClient.from(client), localTable));
    expect((await tenants.list({ limit: 10 })).items).toEqual(["acme", "globex"]);
  } finally {
    client.destroy();
    await close();
  }
});
