import { DynamoDBClient } from "#aws-sdk/client-dynamodb";
import { SchedulerClient } from "#aws-sdk/client-scheduler";
import { SQSClient } from "#aws-sdk/client-sqs";
import { DynamoDBDocumentClient } from "#aws-sdk/lib-dynamodb";
import { boundedCalls } from "./call-times.ts";
import { boundedTries } from "./http-handler.ts";
import { localConfig } from "./local-services.ts";

// Region, credentials and endpoints come from the SDK's variables, except on the local server.

/**
 * Client for the table. Fields that are undefined are left out; the SDK would refuse them by default. It would also
 * refuse an object with a member named `constructor`, such as a tag of that name: it takes that for an instance of a
 * class.
 */
export const tableClient = (): DynamoDBDocumentClient =>
  boundedCalls(
    DynamoDBDocumentClient.from(new DynamoDBClient({ ...boundedTries(), ...localConfig("dynamodb") }), {
      marshallOptions: { removeUndefinedValues: true, convertClassInstanceToMap: true },
    }),
  );

/** Client for queues. The SDK would call the host in a queue's URL, and not the endpoint of its variables. */
export const queueClient = (): SQSClient =>
  boundedCalls(new SQSClient({ ...boundedTries(), ...localConfig("sqs"), useQueueUrlAsEndpoint: false }));

export const schedulerClient = (): SchedulerClient =>
  boundedCalls(new SchedulerClient({ ...boundedTries(), ...localConfig("scheduler") }));
