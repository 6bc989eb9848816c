import type { SQSClient } from "@aws-sdk/client-sqs";
import { describe, expect, test } from "vitest";
import { SqsDeadLetterQueues } from "../../src/aws/dead-letter-queues.ts";
import { SqsQueues, sendRequest } from "../../src/aws/queues.ts";
import { PortUnavailable } from "../../src/core/model/errors.ts";
import { KeptLog } from "../support/kept.ts";
import { envelopeOf, newRecord } from "../support/records.ts";

const url = "https://sqs.example.com/1/normal";
const envelope = envelopeOf(newRecord({ tenant_id: "globex" }), { a: "ä" });
const message = { tier: "normal", envelope, delaySeconds: 0, solo: false, redrives: 0 } as const;

describe("the request that sends a message", () => {
  test("the request has the envelope as its body and the tenant as its group, and nothing else by default", () => {
    expect(sendRequest(url, message)).toEqual({
      QueueUrl: url,
      MessageBody: JSON.stringify(envelope),
      MessageGroupId: "globex",
    });
  });

  test("the request has a delay where there is one", () => {
    expect(sendRequest(url, { ...message, delaySeconds: 900 })).toMatchObject({ DelaySeconds: 900 });
  });

  test("the request carries as attributes what the envelope cannot hold", () => {
    expect(sendRequest(url, { ...message, solo: true, redrives: 2 }).MessageAttributes).toEqual({
      "offload.solo": { DataType: "Number", StringValue: "1" },
      "offload.redrives": { DataType: "Number", StringValue: "2" },
    });
  });
});

const urls = { critical: url, high: url, normal: url, low: url };

describe("holding messages", () => {
  const log = new KeptLog();
  /** Holds two messages, and returns the numbers of the entries that each request had. */
  const hold = async (...answers: object[]) => {
    const sent: string[][] = [];
    const send = async ({ input }: { input: { Entries: { Id: string }[] } }) => {
      sent.push(input.Entries.map(({ Id }) => Id));
      return answers.shift() ?? {};
    };
    const queues = new SqsQueues({ send } as unknown as SQSClient, urls, urls, log);
    await queues.hold("normal", [
      { receiptHandle: "a", seconds: 60 },
      { receiptHandle: "b", seconds: 60 },
    ]);
    return sent;
  };
  const failed = (Id: string, Code: string, SenderFault: boolean) => ({ Id, Code, SenderFault });

  test("messages that SQS did not hold for a passing reason are sent once more", async () => {
    expect(await hold({ Failed: [failed("1", "InternalError", false)] })).toEqual([["0", "1"], ["1"]]);
    const throttled = { Failed: [failed("0", "RequestThrottled", true)] };
    expect(await hold(throttled, throttled)).toEqual([["0", "1"], ["0"]]);
  });

  test("messages that SQS refuses to hold are logged, and not sent again", async () => {
    log.lines.length = 0;
    expect(await hold({ Failed: [failed("0", "ReceiptHandleIsInvalid", true)] })).toEqual([["0", "1"]]);
    expect(log.lines).toMatchObject([{ level: "debug", fields: { error: "ReceiptHandleIsInvalid" } }]);
  });
});

describe("deleting dead letters", () => {
  const deadLetter = { messageId: "m-1", receiptHandle: "handle", body: "" };
  const queuesThat = (answer: object) => {
    const sent: object[] = [];
    const send = async ({ input }: { input: object }) => {
      sent.push(input);
      return answer;
    };
    return { deadLetters: new SqsDeadLetterQueues({ send } as unknown as SQSClient, urls, new KeptLog()), sent };
  };

  test("a delete fails when SQS did not delete one letter of the batch", async () => {
    const failed = queuesThat({ Failed: [{ Id: "0", Code: "InternalError", SenderFault: false }] });
    await expect(failed.deadLetters.delete("normal", [deadLetter])).rejects.toBeInstanceOf(PortUnavailable);
    const deleting = queuesThat({ Successful: [{ Id: "0" }] });
    await deleting.deadLetters.delete("normal", [deadLetter]);
    expect(deleting.sent).toEqual([{ QueueUrl: url, Entries: [{ Id: "0", ReceiptHandle: "handle" }] }]);
  });
});
