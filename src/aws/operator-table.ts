import { DynamoDBClient, type DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";

/** A client of the table for an operator's own machine: with every way to credentials that the SDK knows. */
export const operatorTable = (config: DynamoDBClientConfig): DynamoDBDocumentClient =>
  DynamoDBDocumentClient.from(new DynamoDBClient({ maxAttempts: 3, ...config }), {
    marshallOptions: { removeUndefinedValues: true },
  });
export type { DynamoDBClientConfig, DynamoDBDocumentClient };
