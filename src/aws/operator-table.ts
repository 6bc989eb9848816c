import { DynamoDBClient, type DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";

/** Creates a client for the table on an operator's machine. It finds credentials in every way that the SDK supports. */
export const operatorTable = (config: DynamoDBClientConfig): DynamoDBDocumentClient =>
  DynamoDBDocumentClient.from(new DynamoDBClient({ maxAttempts: 3, ...config }), {
    marshallOptions: { removeUndefinedValues: true },
  });
export type { DynamoDBClientConfig, DynamoDBDocumentClient };
