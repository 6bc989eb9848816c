import { Logger } from "@aws-lambda-powertools/logger";
import { parse } from "@aws-lambda-powertools/parser";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, GetCommand } from "@aws-sdk/lib-dynamodb";
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from "aws-lambda";
import { z } from "zod";

// A status poll as a team writes it on Powertools: parser for the path, logger.

const pathSchema = z.object({ task_id: z.uuid() });
const logger = new Logger({ serviceName: "status" });
const documents = DynamoDBDocumentClient.from(new DynamoDBClient({}));
const TableName = process.env.BENCH_TABLE;

export async function handler(event: APIGatewayProxyEventV2): Promise<APIGatewayProxyStructuredResultV2> {
  const { task_id } = parse({ task_id: event.rawPath.split("/")[2] }, undefined, pathSchema);
  const { Item } = await documents.send(
    new GetCommand({ TableName, Key: { pk: `task#acme#${task_id}`, sk: "record" } }),
  );
  logger.debug("task polled", { task_id });
  const headers = { "content-type": "application/json" };
  if (Item === undefined) return { statusCode: 404, headers, body: JSON.stringify({ title: "Not found" }) };
  const { pk: _, sk: __, ...task } = Item;
  return { statusCode: 200, headers, body: JSON.stringify(task) };
}
