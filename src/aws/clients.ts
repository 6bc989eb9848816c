import { CloudWatchClient } from "#aws-sdk/client-cloudwatch";
import { DynamoDBClient } from "#aws-sdk/client-dynamodb";
import { SchedulerClient } from "#aws-sdk/client-scheduler";
import { SQSClient } from "#aws-sdk/client-sqs";
import { DynamoDBDocumentClient } from "#aws-sdk/lib-dynamodb";

/** Three tries, and no call that outlives what a caller waits for. Region, credentials and endpoints come from the SDK's own variables. */
const common = {
  maxAttempts: 3,
  requestHandler: { connectionTimeout: 2_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
} as const;

/** The table's client: absent fields are left out rather than refused. */
export const tableClient = (): DynamoDBDocumentClient =>
  DynamoDBDocumentClient.from(new DynamoDBClient(common), { marshallOptions: { removeUndefinedValues: true } });

export const queueClient = (): SQSClient => new SQSClient(common);

export const cloudWatchClient = (): CloudWatchClient => new CloudWatchClient(common);

export const schedulerClient = (): SchedulerClient => new SchedulerClient(common);
