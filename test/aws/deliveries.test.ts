import type { SQSEvent, SQSRecord } from "aws-lambda";
import { describe, expect, test } from "vitest";
import { answerBatch, deliveryOf, originOf } from "../../src/aws/deliveries.ts";

const record = (more: Partial<SQSRecord> = {}): SQSRecord => ({
  messageId: "m-1",
  receiptHandle: "r-1",
  body: "{}",
  attributes: {
    ApproximateReceiveCount: "3",
    SentTimestamp: "1798761600000",
    SenderId: "x",
    ApproximateFirstReceiveTimestamp: "1798761600000",
    MessageGroupId: "acme",
  },
  messageAttributes: {},
  md5OfBody: "",
  eventSource: "aws:sqs",
  eventSourceARN: "arn:aws:sqs:eu-central-1:1:offload-normal",
  awsRegion: "eu-central-1",
  ...more,
});

const number = (value: string) => ({ dataType: "Number" as const, stringValue: value });

describe("a message of an event source", () => {
  test("a message becomes a delivery of its tier", () => {
    expect(deliveryOf(record(), { tier: "low" })).toEqual({
      tier: "low",
      messageId: "m-1",
      receiptHandle: "r-1",
      body: "{}",
      receiveCount: 3,
      solo: false,
      redrives: 0,
      tenantId: "acme",
      sentAt: 1_798_761_600_000,
    });
  });

  test("a delivery carries the attributes of its message", () => {
    const messageAttributes = { "offload.solo": number("1"), "offload.redrives": number("2") };
    expect(deliveryOf(record({ messageAttributes }), { tier: "low" })).toMatchObject({ solo: true, redrives: 2 });
  });

  test("a message with invalid attributes counts as plain", () => {
    const messageAttributes = { "offload.solo": number("yes"), "offload.redrives": number("") };
    expect(deliveryOf(record({ messageAttributes }), { tier: "low" })).toMatchObject({ solo: false, redrives: 0 });
  });

  test("a delivery without a message group has no tenant", () => {
    const { MessageGroupId, ...attributes } = record().attributes;
    expect(deliveryOf(record({ attributes }), { tier: "low" })).not.toHaveProperty("tenantId");
  });
});

describe("the queue that a given-up message came from", () => {
  const url = (name: string) => `https://sqs.eu-central-1.amazonaws.com/1/${name}`;
  const urls = { critical: url("a-critical"), high: url("a-high"), normal: url("a-normal"), low: url("a-low") };
  const from = (DeadLetterQueueSourceArn?: string) =>
    record({ attributes: { ...record().attributes, ...(DeadLetterQueueSourceArn && { DeadLetterQueueSourceArn }) } });

  test.each(["critical", "high", "normal", "low"] as const)(
    "the tier is %s when the message came from that tier's queue",
    (tier) => {
      expect(originOf(from(`arn:aws:sqs:eu-central-1:1:a-${tier}`), urls)).toEqual({ tier });
    },
  );

  test("the message of a container worker's queue keeps this queue", () => {
    const containers = { critical: url("a-cc"), high: url("a-ch"), normal: url("a-cn"), low: url("a-cl") };
    expect(originOf(from("arn:aws:sqs:eu-central-1:1:a-cl"), urls, containers)).toEqual({
      tier: "low",
      runsOn: "container",
    });
    expect(originOf(from("arn:aws:sqs:eu-central-1:1:a-low"), urls, containers)).toEqual({ tier: "low" });
  });

  test.each([undefined, "arn:aws:sqs:eu-central-1:1:other", "nonsense"])(
    "the tier is normal when the message came from %s",
    (arn) => {
      expect(originOf(from(arn), urls)).toEqual({ tier: "normal" });
    },
  );
});

describe("the answer to a batch", () => {
  const event: SQSEvent = { Records: ["a", "b", "c"].map((messageId) => record({ messageId, body: messageId })) };

  test("the answer names the messages that have to come again", async () => {
    const answer = await answerBatch(
      event,
      () => ({ tier: "high" }),
      async (deliveries) => deliveries.map(({ body, tier }) => (body === "b" && tier === "high" ? "again" : "done")),
    );
    expect(answer).toEqual({ batchItemFailures: [{ itemIdentifier: "b" }] });
  });

  test("the answer names no message when all are done, and every message that has no verdict", async () => {
    const answers = [["done", "done", "done"], []] as const;
    const named = await Promise.all(
      answers.map((verdicts) =>
        answerBatch(
          event,
          () => ({ tier: "high" }),
          async () => [...verdicts],
        ),
      ),
    );
    expect(named.map(({ batchItemFailures }) => batchItemFailures.length)).toEqual([0, 3]);
  });

  test("the invocation fails when nothing could be decided, so that all messages come again", async () => {
    await expect(
      answerBatch(
        event,
        () => ({ tier: "high" }),
        () => Promise.reject(new Error("no")),
      ),
    ).rejects.toThrow("no");
  });
});
