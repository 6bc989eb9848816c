import type { CloudFormationCustomResourceEvent } from "aws-lambda";
import { besideBundle } from "../src/aws/beside-bundle.ts";
import { DynamoCatalog } from "../src/aws/catalog-store.ts";
import { tableClient } from "../src/aws/clients.ts";
import { asResource } from "../src/aws/cloudformation.ts";
import { DynamoTable } from "../src/aws/dynamo-table.ts";
import { fromEnv } from "../src/settings/config.ts";

const { table, catalogFile } = fromEnv(process.env, ["table", "catalogFile"]);
const catalog = new DynamoCatalog(new DynamoTable(tableClient(), table));

/**
 * Publishes the catalogue beside this function's bundle. When the resource is deleted, nobody can submit directly any
 * more.
 */
export const handler = (event: CloudFormationCustomResourceEvent): Promise<void> =>
  asResource("catalog", event, () =>
    event.RequestType === "Delete" ? catalog.delete() : catalog.save(besideBundle(process.env, catalogFile)),
  );
