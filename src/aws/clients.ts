import { CloudWatchClient } from "#aws-sdk/client-cloudwatch";
import { DynamoDBClient } from "#aws-sdk/client-dynamodb";
import { SchedulerClient } from "#aws-sdk/client-scheduler";
import { SQSClient } from "#aws-sdk/client-sqs";
import { DynamoDBDocumentClient } from "#aws-sdk/lib-dynamodb";
import { boundedCalls } from "./call-times.ts";
import { boundedTries } from "./http-handler.ts";

// Region, credentials and endpoints come from the SDK's variables.

/** Client for the table. Fields that are undefined are left out; the SDK would refuse them by default. */
export const tableClient = (): DynamoDBDocumentClient =>
  boundedCalls(
    DynamoDBDocumentClient.from(new DynamoDBClient(boundedTries()), {
      marshallOptions: { removeUndefinedValues: true },
    }),
  );

export const queueClient = (): SQSClient => boundedCalls(new SQSClient(boundedTries()));

export const cloudWatchClient = (): CloudWatchClient => boundedCalls(new CloudWatchClient(boundedTries()));

export const schedulerClient = (): SchedulerClient => boundedCalls(new SchedulerClient(boundedTries()));
