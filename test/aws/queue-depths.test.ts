import { SQSClient } from "@aws-sdk/client-sqs";
import { expect, test, vi } from "vitest";
import { SqsQueueDepths } from "../../src/aws/queue-depths.ts";
import { PortUnavailable } from "../../src/core/model/errors.ts";

const urls = (suffix: string) => ({
  critical: `https://sqs/critical${suffix}`,
  high: `https://sqs/high${suffix}`,
  normal: `https://sqs/normal${suffix}`,
  low: `https://sqs/low${suffix}`,
});

/** Depths over a client that answers as given. */
function depthsWith(answer: () => Promise<object>) {
  const client = new SQSClient({ region: "us-east-1" });
  const send = vi.spyOn(client, "send").mockImplementation(answer as never);
  return { depths: new SqsQueueDepths(client, urls(""), urls("-dlq")), send };
}

test("the three counts of a tier's queue, or of its DLQ, take one request", async () => {
  const { depths, send } = depthsWith(async () => ({
    Attributes: {
      ApproximateNumberOfMessages: "3",
      ApproximateNumberOfMessagesNotVisible: "2",
      ApproximateNumberOfMessagesDelayed: "1",
    },
  }));
  expect(await depths.ofTier("high")).toEqual({ visible: 3, inFlight: 2, delayed: 1 });
  expect(await depths.ofDlq("low")).toEqual({ visible: 3, inFlight: 2, delayed: 1 });
  expect(send.mock.calls.map(([command]) => command.input)).toMatchObject([
    { QueueUrl: "https://sqs/high", AttributeNames: expect.arrayContaining(["ApproximateNumberOfMessages"]) },
    { QueueUrl: "https://sqs/low-dlq" },
  ]);
});

test("a queue that does not answer makes the port unavailable", async () => {
  const { depths } = depthsWith(async () => {
    throw Object.assign(new Error("slow down"), { name: "ThrottlingException" });
  });
  await expect(depths.ofTier("high")).rejects.toThrow(PortUnavailable);
});
