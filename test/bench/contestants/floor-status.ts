import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, GetCommand } from "@aws-sdk/lib-dynamodb";
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from "aws-lambda";

// The bare call of a status poll.

const documents = DynamoDBDocumentClient.from(new DynamoDBClient({}));
const TableName = process.env.BENCH_TABLE;

export async function handler(event: APIGatewayProxyEventV2): Promise<APIGatewayProxyStructuredResultV2> {
  const taskId = event.rawPath.split("/")[2];
  const { Item } = await documents.send(
    new GetCommand({ TableName, Key: { pk: `task#acme#${taskId}`, sk: "record" } }),
  );
  return { statusCode: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(Item) };
}
