import { createServer } from "node:http";
import {
  ChangeMessageVisibilityBatchCommand,
  ChangeMessageVisibilityCommand,
  CreateQueueCommand,
  DeleteMessageBatchCommand,
  DeleteMessageCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  ListMessageMoveTasksCommand,
  MessageNotInflight,
  PurgeQueueCommand,
  QueueDoesNotExist,
  ReceiptHandleIsInvalid,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SetQueueAttributesCommand,
  SQSClient,
  SQSServiceException,
  StartMessageMoveTaskCommand,
} from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type Sqs, startSqs } from "../../../src/local/sqs/sqs.ts";

let sqs: Sqs;
let client: SQSClient;
let queueCount = 0;

function clientOf(endpoint: string) {
  return new SQSClient({
    endpoint,
    region: "us-east-1",
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
    maxAttempts: 1,
  });
}

async function newQueue(attributes: Record<string, string> = {}) {
  queueCount += 1;
  const QueueName = `queue-${queueCount}`;
  const { QueueUrl } = await client.send(new CreateQueueCommand({ QueueName, Attributes: attributes }));
  return { QueueName, QueueUrl, arn: `arn:aws:sqs:us-east-1:000000000000:${QueueName}` };
}

async function receive(QueueUrl: string | undefined, more: Partial<ReceiveMessageCommand["input"]> = {}) {
  const command = new ReceiveMessageCommand({
    QueueUrl,
    MaxNumberOfMessages: 10,
    MessageSystemAttributeNames: ["All"],
    MessageAttributeNames: ["All"],
    ...more,
  });
  const { Messages = [] } = await client.send(command);
  return Messages;
}

beforeAll(async () => {
  const redrive = { target: "given-dlq", maxReceiveCount: 1 };
  const queues = [
    { name: "given", visibilitySeconds: 77, redrive },
    { name: "given-dlq", retentionSeconds: 1_209_600 },
  ];
  sqs = await startSqs({ port: 0, stateDir: undefined, queues });
  client = clientOf(sqs.url);
});

afterAll(async () => {
  client.destroy();
  await sqs.close();
});

describe("the wire", () => {
  test("the given queues are at their URLs", async () => {
    const { QueueUrl } = await client.send(new GetQueueUrlCommand({ QueueName: "given" }));
    expect(QueueUrl).toBe(`${sqs.url}/000000000000/given`);
    expect(sqs.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const { Attributes } = await client.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["All"] }));
    expect(Attributes).toMatchObject({
      QueueArn: "arn:aws:sqs:us-east-1:000000000000:given",
      VisibilityTimeout: "77",
      RedrivePolicy: JSON.stringify({
        deadLetterTargetArn: "arn:aws:sqs:us-east-1:000000000000:given-dlq",
        maxReceiveCount: 1,
      }),
    });
  });

  test("messages keep attributes and groups, one by one and in batches", async () => {
    const { QueueUrl } = await newQueue();
    const MessageAttributes = {
      "offload.solo": { DataType: "String", StringValue: "1" },
      bytes: { DataType: "Binary", BinaryValue: new Uint8Array([0, 255]) },
    };
    await client.send(
      new SendMessageCommand({ QueueUrl, MessageBody: "eins", MessageGroupId: "g", MessageAttributes }),
    );
    const Entries = [
      { Id: "a", MessageBody: "zwei", MessageGroupId: "g", DelaySeconds: 0 },
      { Id: "b", MessageBody: "drei", DelaySeconds: 900 },
    ];
    const sent = await client.send(new SendMessageBatchCommand({ QueueUrl, Entries }));
    expect(sent.Successful?.map(({ Id }) => Id)).toEqual(["a", "b"]);
    const messages = await receive(QueueUrl);
    expect(messages.map(({ Body }) => Body)).toEqual(["eins", "zwei"]);
    expect(messages[0]).toMatchObject({ MessageAttributes, Attributes: { MessageGroupId: "g" } });
    const names = ["Messages", "MessagesNotVisible", "MessagesDelayed"].map((name) => `ApproximateNumberOf${name}`);
    const { Attributes } = await client.send(
      new GetQueueAttributesCommand({ QueueUrl, AttributeNames: names as "ApproximateNumberOfMessages"[] }),
    );
    expect(names.map((name) => Attributes?.[name as "QueueArn"])).toEqual(["0", "2", "1"]);
    const handles = messages.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }));
    const deleted = await client.send(new DeleteMessageBatchCommand({ QueueUrl, Entries: handles }));
    expect(deleted.Successful).toHaveLength(2);
    expect(sqs.store.counts(QueueUrl?.split("/").at(-1) ?? "")).toMatchObject({ visible: 0, inFlight: 0, delayed: 1 });
  });

  test("a receive returns only the requested attributes", async () => {
    const { QueueUrl } = await newQueue();
    await client.send(new SendMessageCommand({ QueueUrl, MessageBody: "b" }));
    const MessageSystemAttributeNames = ["ApproximateReceiveCount" as const];
    const [message] = await receive(QueueUrl, { MessageSystemAttributeNames, MessageAttributeNames: [] });
    expect(message?.Attributes).toEqual({ ApproximateReceiveCount: "1" });
  });

  test("receives are counted, and changes of visibility are not", async () => {
    const { QueueUrl } = await newQueue();
    await client.send(new SendMessageCommand({ QueueUrl, MessageBody: "b" }));
    const [first] = await receive(QueueUrl);
    for (const VisibilityTimeout of [10, 20, 0]) {
      const { ReceiptHandle } = first ?? {};
      await client.send(new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout }));
    }
    const [second] = await receive(QueueUrl);
    expect(second?.Attributes?.ApproximateReceiveCount).toBe("2");
  });

  test("errors are the SDK's exceptions", async () => {
    const { QueueUrl } = await newQueue();
    const missing = client.send(new SendMessageCommand({ QueueUrl: `${sqs.url}/000000000000/none`, MessageBody: "b" }));
    await expect(missing).rejects.toThrow(QueueDoesNotExist);
    const rubbish = client.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: "rubbish" }));
    await expect(rubbish).rejects.toThrow(ReceiptHandleIsInvalid);
    await client.send(new SendMessageCommand({ QueueUrl, MessageBody: "b" }));
    const [{ ReceiptHandle } = {}] = await receive(QueueUrl, { VisibilityTimeout: 0 });
    const change = { QueueUrl, ReceiptHandle, VisibilityTimeout: 10 };
    await expect(client.send(new ChangeMessageVisibilityCommand(change))).rejects.toThrow(MessageNotInflight);
    const Entries = [{ Id: "a", ReceiptHandle, VisibilityTimeout: 10 }];
    const batch = await client.send(new ChangeMessageVisibilityBatchCommand({ QueueUrl, Entries }));
    expect(batch.Failed).toMatchObject([{ Id: "a", SenderFault: true }]);
  });

  test("messages are measured in bytes", async () => {
    const { QueueUrl } = await newQueue({ MaximumMessageSize: "1024" });
    const send = (MessageBody: string) => client.send(new SendMessageCommand({ QueueUrl, MessageBody }));
    await send("ä".repeat(512));
    await expect(send("ä".repeat(513))).rejects.toThrow(SQSServiceException);
  });

  test("the older protocol works too, with any text", async () => {
    const { QueueUrl = "" } = await newQueue();
    const query = async (parameters: Record<string, string>) => {
      const response = await fetch(sqs.url, { method: "POST", body: new URLSearchParams({ QueueUrl, ...parameters }) });
      return response.text();
    };
    await query({ Action: "SendMessage", MessageBody: '<a b="1">&amp;</a>' });
    const xml = await query({ Action: "ReceiveMessage", "MessageSystemAttributeName.1": "ApproximateReceiveCount" });
    expect(xml).toContain("<Body>&lt;a b=&quot;1&quot;&gt;&amp;amp;&lt;/a&gt;</Body>");
    expect(xml).toMatch(/<Name>ApproximateReceiveCount<\/Name>\s*<Value>1<\/Value>/);
  });

  test("a request of neither protocol gets 400", async () => {
    const headers = { "content-type": "application/x-amz-json-1.0" };
    expect((await fetch(sqs.url, { method: "POST", headers, body: "null" })).status).toBe(400);
    expect((await fetch(sqs.url)).status).toBe(400);
  });

  test("FIFO queues work", async () => {
    const QueueName = "first.fifo";
    const { QueueUrl } = await client.send(new CreateQueueCommand({ QueueName, Attributes: { FifoQueue: "true" } }));
    const ids = { MessageGroupId: "g", MessageDeduplicationId: "d" };
    for (const MessageBody of ["b", "b"]) await client.send(new SendMessageCommand({ QueueUrl, MessageBody, ...ids }));
    expect(await receive(QueueUrl)).toMatchObject([{ Body: "b" }]);
  });

  test("a purge or a delete takes effect immediately", async () => {
    const { QueueUrl, QueueName } = await newQueue();
    const send = () => client.send(new SendMessageCommand({ QueueUrl, MessageBody: "b" }));
    await send();
    await client.send(new PurgeQueueCommand({ QueueUrl }));
    await client.send(new PurgeQueueCommand({ QueueUrl }));
    expect(sqs.store.counts(QueueName).visible).toBe(0);
    await send();
    await client.send(new DeleteQueueCommand({ QueueUrl }));
    await client.send(new CreateQueueCommand({ QueueName }));
    expect(sqs.store.counts(QueueName).visible).toBe(0);
  });

  test("a queue of the server's own is not deleted, by either protocol, and goes on", async () => {
    const QueueUrl = `${sqs.url}/000000000000/given`;
    const refused = { name: "UnsupportedOperation", message: expect.stringContaining("belongs to the local server") };
    await expect(client.send(new DeleteQueueCommand({ QueueUrl }))).rejects.toMatchObject(refused);
    const query = new URLSearchParams({ Action: "DeleteQueue", QueueUrl });
    for (const given of [
      { url: sqs.url, body: query },
      { url: QueueUrl, body: new URLSearchParams("Action=DeleteQueue") },
    ]) {
      const response = await fetch(given.url, { method: "POST", body: given.body });
      expect(response.status).toBe(400);
      expect(await response.text()).toContain("<Code>AWS.SimpleQueueService.UnsupportedOperation</Code>");
    }
    await client.send(new SendMessageCommand({ QueueUrl, MessageBody: "b" }));
    expect(sqs.store.counts("given").visible).toBe(1);
    await client.send(new PurgeQueueCommand({ QueueUrl }));
  });
});

describe("long polls", () => {
  test("long polls end as soon as there is a message, and one of them gets it", async () => {
    const { QueueUrl } = await newQueue();
    const polls = [1, 2, 3].map(() => receive(QueueUrl, { WaitTimeSeconds: 1, VisibilityTimeout: 30 }));
    await client.send(new SendMessageCommand({ QueueUrl, MessageBody: "b" }));
    const received = await Promise.all(polls);
    expect(received.flat()).toHaveLength(1);
  });

  test("a long poll never returns one message twice, even when its visibility ends during the poll", async () => {
    const { QueueUrl } = await newQueue();
    await client.send(new SendMessageCommand({ QueueUrl, MessageBody: "b" }));
    expect(await receive(QueueUrl, { WaitTimeSeconds: 2, VisibilityTimeout: 1 })).toHaveLength(1);
  });

  test("a long poll takes nothing any more when the client has gone", async () => {
    const { QueueUrl, QueueName } = await newQueue();
    const abort = new AbortController();
    const command = new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20 });
    const poll = client.send(command, { abortSignal: abort.signal });
    const listen = vi.spyOn(sqs.store, "whenAvailable");
    await vi.waitFor(() => expect(listen).toHaveBeenCalled(), { timeout: 300_000 });
    const polled = listen.mock.results[0]?.value as Promise<void>;
    abort.abort();
    await expect(poll).rejects.toThrow(/abort/i);
    await polled;
    await client.send(new SendMessageCommand({ QueueUrl, MessageBody: "b" }));
    expect(sqs.store.counts(QueueName)).toMatchObject({ visible: 1, inFlight: 0 });
  });

  test("a long poll ends with the server", async () => {
    const other = await startSqs({ port: 0, stateDir: undefined, queues: [{ name: "q" }] });
    const otherClient = clientOf(other.url);
    const QueueUrl = `${other.url}/000000000000/q`;
    const listen = vi.spyOn(other.store, "whenAvailable");
    const poll = otherClient.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20 }));
    await vi.waitFor(() => expect(listen).toHaveBeenCalled(), { timeout: 300_000 });
    await other.close();
    expect((await poll).Messages).toBeUndefined();
    otherClient.destroy();
  });
});

describe("dead letters", () => {
  test("dead letters move by the queue's redrive policy, and back by a move task as new messages", async () => {
    const dlq = await newQueue();
    const policy = { deadLetterTargetArn: dlq.arn, maxReceiveCount: 1 };
    const main = await newQueue({ RedrivePolicy: JSON.stringify(policy), VisibilityTimeout: "30" });
    const MessageAttributes = { a: { DataType: "String", StringValue: "1" } };
    const { QueueUrl } = main;
    const sent = await client.send(new SendMessageCommand({ QueueUrl, MessageBody: "b", MessageAttributes }));
    await receive(QueueUrl, { VisibilityTimeout: 0 });
    expect(await receive(QueueUrl)).toEqual([]);
    const [dead] = await receive(dlq.QueueUrl, { VisibilityTimeout: 0 });
    expect(dead).toMatchObject({ Body: "b", Attributes: { DeadLetterQueueSourceArn: main.arn } });

    await client.send(new StartMessageMoveTaskCommand({ SourceArn: dlq.arn }));
    const { Results } = await client.send(new ListMessageMoveTasksCommand({ SourceArn: dlq.arn }));
    expect(Results).toMatchObject([{ Status: "COMPLETED", ApproximateNumberOfMessagesMoved: 1 }]);
    const [back] = await receive(QueueUrl);
    expect(back).toMatchObject({ Body: "b", MessageAttributes, Attributes: { ApproximateReceiveCount: "1" } });
    expect(back?.MessageId).not.toBe(sent.MessageId);
    expect(sqs.store.counts(dlq.QueueName)).toMatchObject({ visible: 0, inFlight: 0 });
  });

  test("a move task leaves messages where they are that no queue gave up", async () => {
    const dlq = await newQueue();
    await newQueue({ RedrivePolicy: JSON.stringify({ deadLetterTargetArn: dlq.arn, maxReceiveCount: 1 }) });
    await client.send(new SendMessageCommand({ QueueUrl: dlq.QueueUrl, MessageBody: "b" }));
    await client.send(new StartMessageMoveTaskCommand({ SourceArn: dlq.arn }));
    const { Results } = await client.send(new ListMessageMoveTasksCommand({ SourceArn: dlq.arn }));
    expect(Results).toMatchObject([{ Status: "FAILED", FailureReason: "CouldNotDetermineMessageSource" }]);
    expect(sqs.store.counts(dlq.QueueName).visible).toBe(1);
  });

  test("dead letters follow a policy that is set later", async () => {
    const dlq = await newQueue();
    const { QueueUrl } = await newQueue();
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: dlq.arn, maxReceiveCount: 1 });
    await client.send(new SetQueueAttributesCommand({ QueueUrl, Attributes: { RedrivePolicy } }));
    await client.send(new SendMessageCommand({ QueueUrl, MessageBody: "b" }));
    await receive(QueueUrl, { VisibilityTimeout: 0 });
    expect(await receive(QueueUrl)).toEqual([]);
    expect(sqs.store.counts(dlq.QueueName).visible).toBe(1);
  });
});

test("a port in use is refused with the system's error", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => taken.once("listening", resolve));
  const { port } = taken.address() as { port: number };
  await expect(startSqs({ port, stateDir: undefined, queues: [] })).rejects.toMatchObject({ code: "EADDRINUSE" });
  taken.close();
});
