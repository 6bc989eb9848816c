import {
  ChangeMessageVisibilityBatchCommand,
  ChangeMessageVisibilityCommand,
  CreateQueueCommand,
  DeleteMessageBatchCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  type SendMessageCommandInput,
  SQSClient,
  type SQSServiceException,
} from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Sqs, startSqs } from "../../../src/local/sqs/sqs.ts";
import { FakeClock } from "../../../src/memory/clock.ts";

const clock = new FakeClock(Date.now());
const mebibyte = 1024 * 1024;
let sqs: Sqs;
let client: SQSClient;
let QueueUrl: string;

beforeAll(async () => {
  sqs = await startSqs({ port: 0, stateDir: undefined, queues: [{ name: "q" }], clock });
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  client = new SQSClient({ endpoint: sqs.url, region: "us-east-1", credentials, maxAttempts: 1 });
  QueueUrl = `${sqs.url}/000000000000/q`;
});

beforeEach(() => sqs.store.purge("q"));

afterAll(async () => {
  client.destroy();
  await sqs.close();
});

type Message = Partial<SendMessageCommandInput>;
type Attribute = { DataType: string; StringValue?: string; BinaryValue?: Uint8Array };

const attribute = (name: string, value: Partial<Attribute> = {}): Message => ({
  MessageAttributes: { [name]: { DataType: "String", StringValue: "v", ...value } },
});
const typed = (DataType: string, value: Partial<Attribute>): Message => ({
  MessageAttributes: { a: { DataType, ...value } },
});
const manyAttributes = (count: number): Message => ({
  MessageAttributes: Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`a${index}`, { DataType: "String", StringValue: "v" }]),
  ),
});
const body = (MessageBody: string): Message => ({ MessageBody });

/** Messages that SQS accepts, and messages that it refuses, with its error code. */
const messages: [what: string, message: Message, code?: string][] = [
  ["tab, line feed, carriage return and space", body("\t\n\r ")],
  ["the limits of the allowed ranges", body("\ud7ff\ue000\ufffd\u{10000}\u{1fffe}\u{10ffff}\u007f\u0085")],
  ["NUL", body("a\0"), "InvalidMessageContents"],
  ["U+0001", body("a\u0001"), "InvalidMessageContents"],
  ["a form feed", body("a\f"), "InvalidMessageContents"],
  ["U+001F", body("a\u001f"), "InvalidMessageContents"],
  ["U+FFFE", body("a\ufffe"), "InvalidMessageContents"],
  ["U+FFFF", body("a\uffff"), "InvalidMessageContents"],
  ["a lone surrogate", body("a\ud800"), "InvalidMessageContents"],
  ["no body", body(""), "MissingParameter"],
  ["1 MiB", body("x".repeat(mebibyte))],
  ["a byte over 1 MiB", body("x".repeat(mebibyte + 1)), "InvalidParameterValue"],
  ["1 MiB of two-byte characters", body("ä".repeat(mebibyte / 2))],
  ["over 1 MiB of two-byte characters", body("ä".repeat(mebibyte / 2 + 1)), "InvalidParameterValue"],
  ["1 MiB with its attribute", { ...body("x".repeat(mebibyte - 8)), ...attribute("a") }],
  ["over 1 MiB with its attribute", { ...body("x".repeat(mebibyte - 7)), ...attribute("a") }, "InvalidParameterValue"],
  ["ten attributes", manyAttributes(10)],
  ["eleven attributes", manyAttributes(11), "InvalidParameterValue"],
  ["an attribute name with all kinds of characters", attribute("aZ0_-.b")],
  ["an attribute name of 256 characters", attribute("a".repeat(256))],
  ["an attribute name of 257 characters", attribute("a".repeat(257)), "InvalidParameterValue"],
  ["an attribute name with a space", attribute("a b"), "InvalidParameterValue"],
  ["an attribute name with an umlaut", attribute("ä"), "InvalidParameterValue"],
  ["an attribute name that starts with a period", attribute(".a"), "InvalidParameterValue"],
  ["an attribute name that ends with a period", attribute("a."), "InvalidParameterValue"],
  ["an attribute name with two periods", attribute("a..b"), "InvalidParameterValue"],
  ["an attribute name that starts with AWS.", attribute("aWs.a"), "InvalidParameterValue"],
  ["an attribute name that starts with Amazon.", attribute("amazon.a"), "InvalidParameterValue"],
  ["an attribute without a type", typed("", { StringValue: "v" }), "InvalidParameterValue"],
  ["an attribute of an unknown type", typed("Boolean", { StringValue: "true" }), "InvalidParameterValue"],
  ["an attribute of a type with a label", typed("String.note", { StringValue: "v" })],
  [
    "an attribute type of 257 characters",
    typed(`String.${"a".repeat(250)}`, { StringValue: "v" }),
    "InvalidParameterValue",
  ],
  ["U+FFFE in an attribute type", typed("String.\ufffe", { StringValue: "v" }), "InvalidParameterValue"],
  ["an empty attribute", typed("String", { StringValue: "" }), "InvalidParameterValue"],
  ["an attribute without a value", typed("String", {}), "InvalidParameterValue"],
  ["U+FFFE in an attribute", typed("String", { StringValue: "\ufffe" }), "InvalidParameterValue"],
  ["NUL in an attribute with a label", typed("String.note", { StringValue: "\0" }), "InvalidParameterValue"],
  ["a text with a binary value", typed("String", { BinaryValue: new Uint8Array([1]) }), "InvalidParameterValue"],
  [
    "a labelled text with a binary value",
    typed("String.a", { BinaryValue: new Uint8Array([1]) }),
    "InvalidParameterValue",
  ],
  ["bytes with a text value", typed("Binary.a", { StringValue: "v" }), "InvalidParameterValue"],
  ["any bytes", typed("Binary.png", { BinaryValue: new Uint8Array([0, 255]) })],
  ["a number", typed("Number", { StringValue: "-12.5e3" })],
  ["a number with a label", typed("Number.int", { StringValue: "7" })],
  ["no number", typed("Number", { StringValue: "seven" }), "InvalidParameterValue"],
  ["a hexadecimal number", typed("Number", { StringValue: "0x10" }), "InvalidParameterValue"],
  ["no number with a label", typed("Number.int", { StringValue: "seven" }), "InvalidParameterValue"],
  ["a delay of 900 s", { DelaySeconds: 900 }],
  ["a delay of 901 s", { DelaySeconds: 901 }, "InvalidParameterValue"],
  ["a delay of -1 s", { DelaySeconds: -1 }, "InvalidParameterValue"],
  ["a group of 128 characters", { MessageGroupId: "!~".repeat(64) }],
  ["a group of 129 characters", { MessageGroupId: "g".repeat(129) }, "InvalidParameterValue"],
  ["an empty group", { MessageGroupId: "" }, "InvalidParameterValue"],
  ["a group with a space", { MessageGroupId: "g g" }, "InvalidParameterValue"],
  ["a group with an umlaut", { MessageGroupId: "ä" }, "InvalidParameterValue"],
  ["an id against duplicates", { MessageDeduplicationId: "d" }, "InvalidParameterValue"],
];

const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: SQSServiceException) => error.name,
  );

describe("a message alone", () => {
  test.each(messages)("a message with %s is accepted, or refused with SQS's code", async (_, message, code) => {
    expect(await codeOf(client.send(new SendMessageCommand({ QueueUrl, MessageBody: "b", ...message })))).toBe(code);
    const { visible, delayed } = sqs.store.counts("q");
    expect(visible + delayed).toBe(code === undefined ? 1 : 0);
  });
});

describe("a message in a batch", () => {
  const tooLong = (message: Message) => (message.MessageBody?.length ?? 0) > mebibyte - 10;
  const alone = messages.filter(([, message]) => !tooLong(message) && message.MessageBody?.[0] !== "ä");

  test.each(alone)("a message with %s does not concern its neighbour", async (_, message, code) => {
    const Entries = [
      { Id: "plain", MessageBody: "b" },
      { Id: "tested", MessageBody: "b", ...message },
    ];
    const command = new SendMessageBatchCommand({ QueueUrl, Entries });
    const { Successful = [], Failed = [] } = await client.send(command);
    expect(Successful.map(({ Id }) => Id)).toEqual(code === undefined ? ["plain", "tested"] : ["plain"]);
    expect(Failed).toEqual(
      code === undefined ? [] : [{ Id: "tested", Code: code, SenderFault: true, Message: expect.stringMatching(/\w/) }],
    );
  });
});

describe("a batch", () => {
  const entry = (Id: string, MessageBody = "b", more: Message = {}) => ({ Id, MessageBody, ...more });
  const entries = (count: number, MessageBody = "b") =>
    Array.from({ length: count }, (_, index) => entry(String(index), MessageBody));

  test.each<[what: string, Entries: ReturnType<typeof entries>, code?: string]>([
    ["ten messages", entries(10)],
    ["eleven messages", entries(11), "TooManyEntriesInBatchRequest"],
    ["no messages", [], "EmptyBatchRequest"],
    ["two messages with the same id", [entry("a"), entry("a")], "BatchEntryIdsNotDistinct"],
    ["an id of 80 characters", [entry("a".repeat(80))]],
    ["an id of 81 characters", [entry("a".repeat(81))], "InvalidBatchEntryId"],
    ["an id with a period", [entry("a.b")], "InvalidBatchEntryId"],
    ["1 MiB in all", entries(8, "ä".repeat(mebibyte / 16))],
    ["over 1 MiB in all", [...entries(8, "ä".repeat(mebibyte / 16)), entry("more")], "BatchRequestTooLong"],
    [
      "over 1 MiB in all with an attribute",
      [entry("big", "x".repeat(mebibyte - 8)), entry("more", "b", attribute("a"))],
      "BatchRequestTooLong",
    ],
  ])("a batch with %s is accepted, or refused as a whole", async (_, Entries, code) => {
    expect(await codeOf(client.send(new SendMessageBatchCommand({ QueueUrl, Entries })))).toBe(code);
    expect(sqs.store.counts("q").visible).toBe(code === undefined ? Entries.length : 0);
  });
});

describe("receiving", () => {
  test.each<[what: string, request: Record<string, number>, code?: string]>([
    ["ten messages", { MaxNumberOfMessages: 10 }],
    ["eleven messages", { MaxNumberOfMessages: 11 }, "InvalidParameterValue"],
    ["no messages", { MaxNumberOfMessages: 0 }, "InvalidParameterValue"],
    ["a visibility timeout of 12 h", { VisibilityTimeout: 43_200 }],
    ["a visibility timeout over 12 h", { VisibilityTimeout: 43_201 }, "InvalidParameterValue"],
    ["a negative visibility timeout", { VisibilityTimeout: -1 }, "InvalidParameterValue"],
    ["a wait of 20 s", { WaitTimeSeconds: 20 }],
    ["a wait of 21 s", { WaitTimeSeconds: 21 }, "InvalidParameterValue"],
    ["a negative wait", { WaitTimeSeconds: -1 }, "InvalidParameterValue"],
  ])("a receive with %s is accepted, or refused with SQS's code", async (_, request, code) => {
    await client.send(new SendMessageCommand({ QueueUrl, MessageBody: "b" }));
    expect(await codeOf(client.send(new ReceiveMessageCommand({ QueueUrl, ...request })))).toBe(code);
  });

  const receiveOne = async (VisibilityTimeout: number) => {
    await client.send(new SendMessageCommand({ QueueUrl, MessageBody: "b" }));
    const { Messages = [] } = await client.send(new ReceiveMessageCommand({ QueueUrl, VisibilityTimeout }));
    return Messages[0]?.ReceiptHandle ?? "";
  };

  test.each<[seconds: number, code?: string]>([
    [0],
    [43_200],
    [43_201, "InvalidParameterValue"],
    [-1, "InvalidParameterValue"],
  ])("a change of visibility to %i s is accepted, or refused with SQS's code", async (VisibilityTimeout, code) => {
    const ReceiptHandle = await receiveOne(30);
    const change = { ReceiptHandle, VisibilityTimeout };
    expect(await codeOf(client.send(new ChangeMessageVisibilityCommand({ QueueUrl, ...change })))).toBe(code);
    const again = { ReceiptHandle: await receiveOne(30), VisibilityTimeout };
    const batch = new ChangeMessageVisibilityBatchCommand({ QueueUrl, Entries: [{ Id: "a", ...again }] });
    const { Failed = [] } = await client.send(batch);
    expect(Failed.map(({ Code }) => Code)).toEqual(code === undefined ? [] : [code]);
  });

  test("a message can be hidden for 12 hours from its receive, and no longer", async () => {
    const ReceiptHandle = await receiveOne(30_000);
    await clock.advance(20_000_000);
    const change = (VisibilityTimeout: number) =>
      codeOf(client.send(new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout })));
    expect(await change(23_201)).toBe("InvalidParameterValue");
    expect(await change(23_200)).toBeUndefined();
    await clock.advance(23_000_000);
    expect(await change(201)).toBe("InvalidParameterValue");
    const Entries = [{ Id: "a", ReceiptHandle, VisibilityTimeout: 201 }];
    const { Failed } = await client.send(new ChangeMessageVisibilityBatchCommand({ QueueUrl, Entries }));
    expect(Failed).toMatchObject([{ Code: "InvalidParameterValue", Message: expect.stringContaining("43200") }]);
    expect(await change(200)).toBeUndefined();
    await clock.advance(200_000);
    const { Messages } = await client.send(new ReceiveMessageCommand({ QueueUrl, VisibilityTimeout: 43_200 }));
    expect(Messages).toHaveLength(1);
  });

  test("a batch of deletes follows the rules of batches", async () => {
    const handle = await receiveOne(30);
    const remove = (ids: string[]) => {
      const Entries = ids.map((Id) => ({ Id, ReceiptHandle: handle }));
      return codeOf(client.send(new DeleteMessageBatchCommand({ QueueUrl, Entries })));
    };
    expect(await remove(Array.from({ length: 11 }, (_, index) => String(index)))).toBe("TooManyEntriesInBatchRequest");
    expect(await remove(["a", "a"])).toBe("BatchEntryIdsNotDistinct");
    expect(await remove([])).toBe("EmptyBatchRequest");
    expect(await remove(["a"])).toBeUndefined();
  });
});

test("a queue with a smaller limit measures body and attributes", async () => {
  const { QueueUrl: small } = await client.send(
    new CreateQueueCommand({ QueueName: "small", Attributes: { MaximumMessageSize: "1024" } }),
  );
  const send = (MessageBody: string) =>
    codeOf(client.send(new SendMessageCommand({ QueueUrl: small, MessageBody, ...attribute("a") })));
  expect(await send("x".repeat(1016))).toBeUndefined();
  expect(await send("x".repeat(1017))).toBe("InvalidParameterValue");
});
