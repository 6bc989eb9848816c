import { CloudWatchClient } from "#aws-sdk/client-cloudwatch";
import { DynamoDBClient } from "#aws-sdk/client-dynamodb";
import { SchedulerClient } from "#aws-sdk/client-scheduler";
import { SQSClient } from "#aws-sdk/client-sqs";
import { DynamoDBDocumentClient } from "#aws-sdk/lib-dynamodb";

/** Three tries, and time-outs shorter than a caller's wait. Region, credentials and endpoints come from the SDK's variables. */
const common = {
  maxAttempts: 3,
  requestHandler: { connectionTimeout: 2_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
} as const;

/**
 * Client for the table. Fields that are undefined are left out; the SDK would refuse them by default. It would also refuse an
 * object with a member named `constructor`, such as a tag of that name: it takes that for an instance of a class.
 */
export const tableClient = (): DynamoDBDocumentClient =>
  DynamoDBDocumentClient.from(new DynamoDBClient(common), {
    marshallOptions: { removeUndefinedValues: true, convertClassInstanceToMap: true },
  });

export const queueClient = (): SQSClient => new SQSClient(common);

export const cloudWatchClient = (): CloudWatchClient => new CloudWatchClient(common);

export const schedulerClient = (): SchedulerClient => new SchedulerClient(common);
