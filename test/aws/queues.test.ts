import { describe, expect, test } from "vitest";
import { sendRequest } from "../../src/aws/queues.ts";
import { envelopeOf, newRecord } from "../support/memory-pipeline.ts";

const url = "https://sqs.example.com/1/normal";
const envelope = envelopeOf(newRecord({ tenant_id: "globex" }), { a: "ä" });
const message = { tier: "normal", envelope, delaySeconds: 0, solo: false, redrives: 0 } as const;

describe("the request that sends a message", () => {
  test("has the envelope as its body and the tenant as its group, and nothing else where nothing is said", () => {
    expect(sendRequest(url, message)).toEqual({
      QueueUrl: url,
      MessageBody: JSON.stringify(envelope),
      MessageGroupId: "globex",
    });
  });

  test("has a delay where there is one", () => {
    expect(sendRequest(url, { ...message, delaySeconds: 900 })).toMatchObject({ DelaySeconds: 900 });
  });

  test("carries what the envelope cannot as attributes", () => {
    expect(sendRequest(url, { ...message, solo: true, redrives: 2 }).MessageAttributes).toEqual({
      "offload.solo": { DataType: "Number", StringValue: "1" },
      "offload.redrives": { DataType: "Number", StringValue: "2" },
    });
  });
});
