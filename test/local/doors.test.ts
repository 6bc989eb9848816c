import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { AwsError } from "../../src/aws/lean/aws-error.ts";
import { SQSClient } from "../../src/local/direct/client-sqs.ts";
import { DirectService } from "../../src/local/direct/direct-service.ts";
import { type Door, openDoors, type Reply } from "../../src/local/direct/doors.ts";
import { startTable, type Table } from "../../src/local/dynamodb/table.ts";
import { type Sqs, startSqs } from "../../src/local/sqs/sqs.ts";

/** An operation over HTTP. */
async function overHttp(url: string, target: string, body: object): Promise<Reply> {
  const headers = {
    authorization:
      "AWS4-HMAC-SHA256 Credential=local/20000101/us-east-1/x/aws4_request, SignedHeaders=host, Signature=x",
    "content-type": "application/x-amz-json-1.0",
    "x-amz-target": target,
  };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await response.text();
  return { status: response.status, body: text === "" ? {} : JSON.parse(text) };
}

const key = (AttributeName: string, KeyType: string) => ({ AttributeName, KeyType });
const definition = {
  TableName: "tasks",
  BillingMode: "PAY_PER_REQUEST",
  AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }],
  KeySchema: [key("pk", "HASH")],
};
const item = { pk: { S: "a" }, name: { S: "a name" } };

describe("the table's door", () => {
  let table: Table;
  beforeAll(async () => {
    table = await startTable({ port: 0, stateDir: undefined, kept: "tasks" });
    await table.call("CreateTable", JSON.stringify(definition));
    const isActive = async () =>
      JSON.stringify(await table.call("DescribeTable", '{"TableName":"tasks"}')).includes("ACTIVE");
    while (!(await isActive())) await new Promise(setImmediate);
  });
  afterAll(() => table.close());

  test.each([
    ["PutItem", { Item: item }],
    ["GetItem", { Key: { pk: { S: "a" } } }],
    ["PutItem", { Item: item, ConditionExpression: "attribute_not_exists(pk)" }],
    ["PutItem", { Item: { pk: { S: "b" }, text: { S: "a".repeat(410_000) } } }],
    ["PutItem", { Item: { pk: { N: "1" } } }],
    ["UpdateItem", { Key: { pk: { S: "a" } }, UpdateExpression: "SET #n :n", ExpressionAttributeNames: { "#n": "n" } }],
    ["GetItem", { TableName: "another", Key: { pk: { S: "a" } } }],
    ["DeleteTable", {}],
  ])("gives the answer that HTTP gives: %s", async (operation, input) => {
    const body = { TableName: "tasks", ...input };
    const reply = await table.call(operation, JSON.stringify(body));
    expect(reply).toEqual(await overHttp(table.url, `DynamoDB_20120810.${operation}`, body));
  });
});

describe("the queues' door", () => {
  let sqs: Sqs;
  beforeAll(async () => {
    sqs = await startSqs({ port: 0, stateDir: undefined, queues: [{ name: "own" }] });
  });
  afterAll(() => sqs.close());

  const entries = (count: number, length: number) =>
    Array.from({ length: count }, (_, index) => ({ Id: String(index), MessageBody: "a".repeat(length) }));

  test.each([
    ["SendMessage", { MessageBody: "" }],
    ["SendMessage", { MessageBody: "a\u0000" }],
    ["SendMessage", { MessageBody: "a", DelaySeconds: 901 }],
    ["SendMessage", { MessageBody: "a".repeat(1_048_577) }],
    ["SendMessage", { MessageBody: "a", MessageGroupId: "a b" }],
    ["SendMessageBatch", { Entries: entries(11, 1) }],
    ["SendMessageBatch", { Entries: entries(2, 600_000) }],
    ["SendMessageBatch", { Entries: [] }],
    ["ChangeMessageVisibilityBatch", { Entries: [{ Id: "1", ReceiptHandle: "none", VisibilityTimeout: 1 }] }],
    ["DeleteQueue", {}],
    ["NoOperation", {}],
  ])("gives the answer that HTTP gives: %s", async (operation, input) => {
    const body = { QueueUrl: `${sqs.url}/000000000000/own`, ...input };
    const reply = await sqs.call(operation, JSON.stringify(body));
    expect(reply).toEqual(await overHttp(sqs.url, `AmazonSQS.${operation}`, body));
  });

  const others = { a: { DataType: "String", StringValue: "b" } };

  test.each([
    ["SendMessage", { MessageBody: "hello", MessageGroupId: "a" }],
    ["SendMessage", { MessageBody: "ä", DelaySeconds: 900 }],
    ["SendMessage", { MessageBody: "a", MessageAttributes: others }],
    ["SendMessageBatch", { Entries: [{ Id: "0", MessageBody: "hello", MessageGroupId: "a" }] }],
    ["SendMessageBatch", { Entries: [{ Id: "a b", MessageBody: "hello" }] }],
    ["SendMessageBatch", { Entries: [{ Id: "0", MessageBody: "a", DelaySeconds: -1 }] }],
    ["SendMessageBatch", { Entries: entries(2, 1) }],
  ])("sends what HTTP sends, with its answer: %s %j", async (operation, input) => {
    const body = { QueueUrl: `${sqs.url}/000000000000/own`, ...input };
    const answers = [
      await sqs.call(operation, JSON.stringify(body)),
      await overHttp(sqs.url, `AmazonSQS.${operation}`, body),
    ];
    const [byDoor, byHttp] = answers.map((answer) =>
      JSON.stringify(answer).replaceAll(/[0-9a-f]{8}-[-0-9a-f]{27}/g, "id"),
    );
    expect(JSON.parse(byDoor ?? "")).toEqual(JSON.parse(byHttp ?? ""));
    const stored = sqs.store
      .receive("own", 10)
      .map(({ body, attributes: { MessageGroupId } }) => [body, MessageGroupId]);
    expect(stored.slice(0, stored.length / 2)).toEqual(stored.slice(stored.length / 2));
    sqs.store.purge("own");
  });

  test.each([0, 60])(
    "hides the others of a batch in which one message is gone, with HTTP's answer: for %d s",
    async (seconds) => {
      const operation = "ChangeMessageVisibilityBatch";
      const answerOf = async (call: (body: object) => Promise<unknown>) => {
        for (const body of ["a", "b"]) sqs.store.send("own", { body });
        const [here = "", gone = ""] = sqs.store.receive("own", 2).map(({ receiptHandle }) => receiptHandle);
        sqs.store.delete("own", gone);
        const entries = [here, gone].map((ReceiptHandle, index) => ({ Id: String(index), ReceiptHandle }));
        const Entries = entries.map((entry) => ({ ...entry, VisibilityTimeout: seconds }));
        const answer = JSON.stringify(await call({ QueueUrl: `${sqs.url}/000000000000/own`, Entries }));
        sqs.store.purge("own");
        return JSON.parse(answer.replaceAll(gone, "gone"));
      };
      const byDoor = await answerOf((body) => sqs.call(operation, JSON.stringify(body)));
      expect(byDoor).toMatchObject({ body: { Successful: [{ Id: "0" }], Failed: [{ Id: "1" }] } });
      expect(byDoor).toEqual(await answerOf((body) => overHttp(sqs.url, `AmazonSQS.${operation}`, body)));
    },
  );

  test("sends a message that the queue has", async () => {
    const body = { QueueUrl: `${sqs.url}/000000000000/own`, MessageBody: "hello", MessageGroupId: "a" };
    expect(await sqs.call("SendMessage", JSON.stringify(body))).toMatchObject({ status: 200 });
    expect(sqs.store.receive("own", 10)).toMatchObject([{ body: "hello", attributes: { MessageGroupId: "a" } }]);
  });
});

describe("a client with a door", () => {
  const credentials = { accessKeyId: "a", secretAccessKey: "b" };
  const config = { endpoint: "http://127.0.0.1:1", region: "us-east-1", credentials };
  let close = () => {};
  afterEach(() => close());

  function open(...replies: Reply[]): unknown[] {
    const calls: unknown[] = [];
    const door: Door = async (operation, body) => {
      calls.push([operation, JSON.parse(body)]);
      return replies.shift() ?? { status: 200, body: {} };
    };
    close = openDoors({ dynamodb: door, sqs: door, events: door, measured: () => {} });
    return calls;
  }

  const get = { method: "POST", path: "/", headers: { "x-amz-target": "DynamoDB_20120810.GetItem" }, body: "{}" };

  test("calls it without HTTP", async () => {
    const calls = open({ status: 200, body: { Item: {} } });
    expect(await new DirectService("dynamodb", config).send(get)).toEqual({ Item: {} });
    expect(calls).toEqual([["GetItem", {}]]);
  });

  test("tries again after a failure of the emulator, as over HTTP", async () => {
    const failed = { status: 500, body: { __type: "x#InternalServerError", message: "the disk is full" } };
    const calls = open(failed, failed);
    expect(await new DirectService("dynamodb", config).send(get)).toEqual({});
    expect(calls).toHaveLength(3);
  });

  test("throws what AWS refuses, with its code", async () => {
    open({ status: 400, body: { __type: "x#ConditionalCheckFailedException", message: "no" } });
    const sent = new DirectService("dynamodb", config).send(get);
    await expect(sent).rejects.toBeInstanceOf(AwsError);
    open({ status: 400, body: { __type: "x#ConditionalCheckFailedException", message: "no" } });
    await expect(new DirectService("dynamodb", config).send(get)).rejects.toMatchObject({
      ...{ name: "ConditionalCheckFailedException", message: "no", $fault: "client" },
    });
  });

  test("sends messages by it", async () => {
    const calls = open();
    const { SendMessageCommand } = await import("../../src/local/direct/client-sqs.ts");
    await new SQSClient(config).send(new SendMessageCommand({ QueueUrl: "http://127.0.0.1:1/0/q", MessageBody: "a" }));
    expect(calls).toEqual([["SendMessage", { QueueUrl: "http://127.0.0.1:1/0/q", MessageBody: "a" }]]);
  });

  test("sends events by it", async () => {
    const calls = open();
    const { EventBridgeClient, PutEventsCommand } = await import("../../src/local/direct/client-eventbridge.ts");
    const Entries = [{ Source: "s", DetailType: "d", Detail: "{}", Time: new Date(1_500) }];
    await new EventBridgeClient(config).send(new PutEventsCommand({ Entries }));
    expect(calls).toEqual([["PutEvents", { Entries: [{ Source: "s", DetailType: "d", Detail: "{}", Time: 1.5 }] }]]);
  });

  test("calls the address while no door is open", async () => {
    open();
    close();
    const sent = new DirectService("dynamodb", { ...config, maxAttempts: 1 }).send(get);
    await expect(sent).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });
});
