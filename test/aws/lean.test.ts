import { createHash, createHmac } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { S3Client } from "@aws-sdk/client-s3";
import * as sdkScheduler from "@aws-sdk/client-scheduler";
import * as sdkQueues from "@aws-sdk/client-sqs";
import * as sdkTable from "@aws-sdk/lib-dynamodb";
import { marshall, unmarshall } from "@aws-sdk/util-dynamodb";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { fromAttributes, toAttributes } from "../../src/aws/lean/attributes.ts";
import { DynamoDBClient as LeanTableClient } from "../../src/aws/lean/client-dynamodb.ts";
import * as leanScheduler from "../../src/aws/lean/client-scheduler.ts";
import * as leanQueues from "../../src/aws/lean/client-sqs.ts";
import { endpointOf } from "../../src/aws/lean/environment.ts";
import * as leanTable from "../../src/aws/lean/lib-dynamodb.ts";
import fc from "../support/fast-check.ts";

/** What a client sent. */
interface Sent {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingMessage["headers"];
  body: string;
}

const credentials = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI", sessionToken: "a+session/token" };
const region = "eu-west-1";
const sent: Sent[] = [];
let answers: { status: number; body: string; headers?: Record<string, string> }[] = [];

/** What a request gets whose key says how it is to be refused, whatever others get meanwhile. */
function refusalFor(body: string) {
  const code = /"refuse:(\w+):/.exec(body)?.[1];
  return code === undefined ? undefined : { status: 400, body: `{"__type":"x#${code}","message":"no"}`, headers: {} };
}

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { method, url, headers } = request;
  sent.push({ method, url, headers, body: Buffer.concat(chunks).toString("utf8") });
  const answer = refusalFor(sent.at(-1)?.body ?? "") ?? answers.shift() ?? { status: 200, body: "{}" };
  response.writeHead(answer.status, { "content-type": "application/x-amz-json-1.0", ...answer.headers });
  response.end(answer.body);
});

/** What the SDK is configured with; the stand-ins find the same in the environment. */
let sdkConfig: { endpoint: string; region: string; credentials: typeof credentials; maxAttempts: number; md5: false };

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  sdkConfig = { endpoint, region, credentials, maxAttempts: 1, md5: false };
  Object.assign(process.env, {
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    AWS_SESSION_TOKEN: credentials.sessionToken,
    AWS_ENDPOINT_URL_DYNAMODB: endpoint,
    AWS_ENDPOINT_URL_SQS: endpoint,
    AWS_ENDPOINT_URL_SCHEDULER: endpoint,
  });
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
  for (const name of ["DYNAMODB", "SQS", "SCHEDULER"]) delete process.env[`AWS_ENDPOINT_URL_${name}`];
  delete process.env.AWS_SESSION_TOKEN;
});
beforeEach(() => {
  sent.length = 0;
  answers = [];
});

/** Clients of the SDK and their stand-ins, for one service after the other. */
const clients = {
  table: () => ({
    sdk: sdkTable.DynamoDBDocumentClient.from(new DynamoDBClient(sdkConfig), {
      marshallOptions: { removeUndefinedValues: true },
    }),
    lean: leanTable.DynamoDBDocumentClient.from(new LeanTableClient({ maxAttempts: 3 })),
  }),
  queues: () => ({ sdk: new sdkQueues.SQSClient(sdkConfig), lean: new leanQueues.SQSClient({ maxAttempts: 3 }) }),
  scheduler: () => ({
    sdk: new sdkScheduler.SchedulerClient(sdkConfig),
    lean: new leanScheduler.SchedulerClient({ maxAttempts: 3 }),
  }),
};
type ServiceName = keyof typeof clients;
type Modules = Record<string, new (input: Record<string, unknown>) => never>;
const modules: Record<ServiceName, { sdk: Modules; lean: Modules }> = {
  table: { sdk: sdkTable as unknown as Modules, lean: leanTable as unknown as Modules },
  queues: { sdk: sdkQueues as unknown as Modules, lean: leanQueues as unknown as Modules },
  scheduler: { sdk: sdkScheduler as unknown as Modules, lean: leanScheduler as unknown as Modules },
};

interface Sender {
  send(command: never): Promise<unknown>;
  destroy(): void;
}

/** Does one operation with the SDK and with its stand-in, and gives what each made of the same answer. */
async function both(service: ServiceName, name: string, input: Record<string, unknown>, answer = answers[0]) {
  const made = clients[service]();
  const outcomes: unknown[] = [];
  for (const kind of ["sdk", "lean"] as const) {
    answers = answer === undefined ? [] : [answer];
    const Command = modules[service][kind][name];
    if (Command === undefined) throw new Error(`${kind} has no ${name}`);
    const client = made[kind] as Sender;
    const placed =
      input.QueueUrl === url ? { ...input, QueueUrl: url.replace("http://queue-host", sdkConfig.endpoint) } : input;
    outcomes.push(await client.send(new Command(placed)).catch((error: unknown) => error));
    client.destroy();
  }
  return outcomes as [Record<string, unknown> & Error, Record<string, unknown> & Error];
}

const binary = new Uint8Array([0, 1, 250, 255]);
const item = {
  ...{ pk: "task#acme#1", sk: "record", n: 3, f: -0.25, big: 1_800_000_000, yes: true, no: false, nothing: null },
  ...{
    absent: undefined,
    bytes: binary,
    empty: "",
    umlaut: "Grüße 😀",
    list: [1, "a", { b: [] }],
    map: { c: { d: 1 } },
  },
};
/** Its host is put in once the server listens. */
const url = "http://queue-host/123456789012/offload-normal";
const schedule = {
  Name: "a.b_c-1",
  GroupName: "offload",
  ClientToken: "token",
  ScheduleExpression: "at(2027-01-01T00:00:00)",
  StartDate: new Date("2027-01-01T00:00:00.000Z"),
  FlexibleTimeWindow: { Mode: "OFF" },
  Target: { Arn: "arn:aws:lambda:x", RoleArn: "arn:aws:iam::y", Input: '{"kind":"task"}' },
};

const operations: [ServiceName, string, Record<string, unknown>][] = [
  ["table", "GetCommand", { TableName: "t", Key: { pk: "a", sk: "b" }, ConsistentRead: true }],
  [
    "table",
    "PutCommand",
    { TableName: "t", Item: item, ConditionExpression: "x", ExpressionAttributeValues: { ":n": 1 } },
  ],
  [
    "table",
    "UpdateCommand",
    {
      ...{ TableName: "t", Key: { pk: "a" }, UpdateExpression: "ADD #v :s", ReturnValues: "ALL_NEW" },
      ExpressionAttributeNames: { "#v": "v" },
      ExpressionAttributeValues: { ":s": new Set(["a", "b"]), ":n": new Set([1, 2]), ":l": [item] },
    },
  ],
  ["table", "DeleteCommand", { TableName: "t", Key: { pk: "a" }, ExpressionAttributeValues: { ":v": "x" } }],
  [
    "table",
    "QueryCommand",
    {
      TableName: "t",
      IndexName: "i",
      Limit: 5,
      ExclusiveStartKey: { pk: "a" },
      ExpressionAttributeValues: { ":p": "p" },
    },
  ],
  ["table", "ScanCommand", { TableName: "t", ExclusiveStartKey: { pk: "a", n: 1 } }],
  ["table", "BatchGetCommand", { RequestItems: { t: { Keys: [{ pk: "a" }, { pk: "b" }], ConsistentRead: true } } }],
  [
    "queues",
    "SendMessageCommand",
    {
      ...{ QueueUrl: url, MessageBody: "Grüße", MessageGroupId: "acme", DelaySeconds: 5 },
      MessageAttributes: { "offload.solo": { DataType: "Number", StringValue: "1" } },
    },
  ],
  ["queues", "ReceiveMessageCommand", { QueueUrl: url, MaxNumberOfMessages: 10, WaitTimeSeconds: 1 }],
  ["queues", "DeleteMessageBatchCommand", { QueueUrl: url, Entries: [{ Id: "0", ReceiptHandle: "h" }] }],
  [
    "queues",
    "ChangeMessageVisibilityBatchCommand",
    { QueueUrl: url, Entries: [{ Id: "0", ReceiptHandle: "h", VisibilityTimeout: 0 }] },
  ],
  ["queues", "GetQueueAttributesCommand", { QueueUrl: url, AttributeNames: ["ApproximateNumberOfMessages"] }],
  ["scheduler", "CreateScheduleCommand", schedule],
  [
    "scheduler",
    "UpdateScheduleCommand",
    { ...schedule, State: "DISABLED", EndDate: new Date("2028-02-03T04:05:06.000Z") },
  ],
  ["scheduler", "DeleteScheduleCommand", { Name: "a.b_c-1", GroupName: "offload", ClientToken: "token" }],
];

/** A body's JSON, or its absence. */
const jsonOf = (body: string): unknown => (body === "" ? undefined : JSON.parse(body));

/** The signature that AWS computes for a request, by its documentation of Signature Version 4. */
function expectedSignature({ method, url: target, headers, body }: Sent): string {
  const authorization = String(headers.authorization);
  const [, scope = "", signedHeaders = ""] =
    /Credential=[^/]+\/(.+), SignedHeaders=(.+), Signature=/.exec(authorization) ?? [];
  const [date = "", scopeRegion = "", service = ""] = scope.split("/");
  const { pathname, searchParams } = new URL(String(target), "http://x");
  const query = [...searchParams].map((pair) => pair.map(encodeURIComponent).join("=")).sort();
  const hash = (text: string) => createHash("sha256").update(text).digest("hex");
  const canonical = [
    method,
    pathname.split("/").map(encodeURIComponent).join("/"),
    query.join("&"),
    ...signedHeaders.split(";").map((name) => `${name}:${String(headers[name]).trim().replaceAll(/ +/g, " ")}`),
    "",
    signedHeaders,
    hash(body),
  ].join("\n");
  const toSign = ["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, hash(canonical)].join("\n");
  const sign = (key: Buffer | string, text: string) => createHmac("sha256", key).update(text).digest();
  const key = [scopeRegion, service, "aws4_request"].reduce(sign, sign(`AWS4${credentials.secretAccessKey}`, date));
  return sign(key, toSign).toString("hex");
}

describe.each(operations)("%s: %s", (service, name, input) => {
  test("the request is the same as the SDK's", async () => {
    await both(service, name, input);
    const [sdk, lean] = sent;
    expect(sent).toHaveLength(2);
    expect({ method: lean?.method, body: jsonOf(lean?.body ?? "") }).toEqual({
      method: sdk?.method,
      body: jsonOf(sdk?.body ?? ""),
    });
    const [sdkUrl, leanUrl] = [sdk?.url, lean?.url].map((one) => new URL(one ?? "", "http://x"));
    expect(leanUrl?.pathname).toBe(sdkUrl?.pathname);
    expect([...(leanUrl?.searchParams ?? [])].sort()).toEqual([...(sdkUrl?.searchParams ?? [])].sort());
    for (const header of ["host", "x-amz-target", "x-amzn-query-mode", "x-amz-security-token"]) {
      expect(lean?.headers[header], header).toBe(sdk?.headers[header]);
    }
    if (sdk?.body !== "") expect(lean?.headers["content-type"]).toBe(sdk?.headers["content-type"]);
  });

  test("the request carries the signature that AWS computes", async () => {
    await both(service, name, input);
    for (const request of sent) {
      expect(request.headers.authorization).toMatch(
        new RegExp(`^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/\\d{8}/${region}/`),
      );
      expect(request.headers.authorization).toContain(`Signature=${expectedSignature(request)}`);
    }
    const signed = sent.map(({ headers }) =>
      /SignedHeaders=([^,]+)/.exec(String(headers.authorization))?.[1]?.split(";"),
    );
    for (const header of ["host", "x-amz-date", "x-amz-security-token"]) expect(signed[1]).toContain(header);
    if (sent[0]?.headers["x-amz-target"] !== undefined) expect(signed[1]).toContain("x-amz-target");
  });
});

describe("answers", () => {
  const plain = ({ $metadata: _, ...output }: Record<string, unknown>) => output;
  const attributes = marshall(item, { removeUndefinedValues: true });
  const json = (value: unknown) =>
    JSON.stringify(value, function (this: Record<string, unknown>, key, member) {
      const original = this[key];
      return original instanceof Uint8Array ? Buffer.from(original).toString("base64") : member;
    });

  test.each<[string, unknown]>([
    ["GetCommand", { Item: attributes }],
    ["GetCommand", {}],
    ["UpdateCommand", { Attributes: attributes }],
    [
      "QueryCommand",
      { Items: [attributes, attributes], Count: 2, ScannedCount: 3, LastEvaluatedKey: { pk: { S: "a" } } },
    ],
    ["QueryCommand", { Items: [], Count: 0 }],
    [
      "BatchGetCommand",
      { Responses: { t: [attributes] }, UnprocessedKeys: { t: { Keys: [{ pk: { S: "b" } }], ConsistentRead: true } } },
    ],
  ])("the answer to a %s is read as the SDK reads it", async (name, answer) => {
    const input = operations.find(([, operation]) => operation === name)?.[2] ?? {};
    const [sdk, lean] = await both("table", name, input, { status: 200, body: json(answer) });
    expect(lean).toEqual(plain(sdk));
  });

  test("messages of SQS are read as the SDK reads them", async () => {
    const message = { MessageId: "m", ReceiptHandle: "h", Body: "b", Attributes: { SentTimestamp: "1" } };
    const body = JSON.stringify({ Messages: [message] });
    const [sdk, lean] = await both("queues", "ReceiveMessageCommand", { QueueUrl: url }, { status: 200, body });
    expect(lean).toEqual(plain(sdk));
  });
});

describe("refusals", () => {
  const get = { TableName: "t", Key: { pk: "a" } };

  test.each<[ServiceName, string, Record<string, unknown>, (typeof answers)[number]]>([
    [
      "table",
      "GetCommand",
      get,
      {
        status: 400,
        body: '{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"no"}',
      },
    ],
    [
      "table",
      "GetCommand",
      get,
      { status: 400, body: '{"__type":"com.amazon.coral.validate#ValidationException","message":"wrong"}' },
    ],
    [
      "queues",
      "ReceiveMessageCommand",
      { QueueUrl: url },
      {
        status: 400,
        body: '{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"gone"}',
        headers: { "x-amzn-query-error": "AWS.SimpleQueueService.NonExistentQueue;Sender" },
      },
    ],
    [
      "scheduler",
      "CreateScheduleCommand",
      schedule,
      {
        status: 409,
        body: '{"Message":"there"}',
        headers: { "x-amzn-errortype": "ConflictException:http://internal.amazon.com/" },
      },
    ],
    [
      "scheduler",
      "DeleteScheduleCommand",
      { Name: "x", ClientToken: "token" },
      { status: 404, body: '{"Message":"none"}', headers: { "x-amzn-errortype": "ResourceNotFoundException" } },
    ],
  ])("a refusal of %s %s has the SDK's name, message and fault", async (service, name, input, answer) => {
    const [sdk, lean] = await both(service, name, input, answer);
    expect(lean).toBeInstanceOf(Error);
    expect({ name: lean.name, message: lean.message, fault: lean.$fault }).toEqual({
      ...{ name: sdk.name, message: sdk.message, fault: sdk.$fault },
    });
    expect(sent).toHaveLength(2);
  });

  test("refusals of the Scheduler have the classes that callers tell apart", async () => {
    const conflict = { status: 409, body: "{}", headers: { "x-amzn-errortype": "ConflictException" } };
    const [sdk, lean] = await both("scheduler", "CreateScheduleCommand", schedule, conflict);
    expect(sdk).toBeInstanceOf(sdkScheduler.ConflictException);
    expect(lean).toBeInstanceOf(leanScheduler.ConflictException);
  });
});

describe("a call that can pass later", () => {
  const get = () => clients.table().lean.send(new leanTable.GetCommand({ TableName: "t", Key: { pk: "a" } }));
  const throttled = {
    status: 400,
    body: '{"__type":"x#ProvisionedThroughputExceededException","message":"slow down"}',
  };
  const down = { status: 503, body: "<html>no gateway</html>" };

  test("the call is tried up to three times", async () => {
    answers = [throttled, down, { status: 200, body: '{"Item":{"pk":{"S":"a"}}}' }];
    expect(await get()).toEqual({ Item: { pk: "a" } });
    expect(sent).toHaveLength(3);
  });

  test("the call fails with the service's last error when no try is left", async () => {
    answers = [down, down, throttled, { status: 200, body: "{}" }];
    await expect(get()).rejects.toMatchObject({ name: "ProvisionedThroughputExceededException", $fault: "client" });
    answers = [down, down, down];
    await expect(get()).rejects.toMatchObject({ $fault: "server", $metadata: { httpStatusCode: 503 } });
  });

  test("the same errors are tried again as by the SDK", async () => {
    const codes = [
      ...["ThrottlingException", "ProvisionedThroughputExceededException", "RequestLimitExceeded", "SlowDown"],
      ...["RequestTimeout", "RequestTimeoutException", "TooManyRequestsException", "RequestThrottled"],
      ...["ValidationException", "ConditionalCheckFailedException", "AccessDeniedException", "SignatureDoesNotMatch"],
    ];
    const triesOf = async (client: Sender, Command: Modules[string] | undefined, code: string, kind: string) => {
      if (Command === undefined) throw new Error(`${kind} has no such command`);
      const pk = `refuse:${code}:${kind}`;
      const call = client.send(new Command({ TableName: "t", Key: { pk } }));
      await expect(call, code).rejects.toMatchObject({ name: code });
      return [code, sent.filter(({ body }) => body.includes(`"${pk}"`)).length];
    };
    const lean = leanTable.DynamoDBDocumentClient.from(new LeanTableClient({ maxAttempts: 2 }));
    const sdk = sdkTable.DynamoDBDocumentClient.from(new DynamoDBClient({ ...sdkConfig, maxAttempts: 2 }));
    const [expected, tries] = await Promise.all([
      Promise.all(codes.map((code) => triesOf(sdk, modules.table.sdk.GetCommand, code, "sdk"))),
      Promise.all(codes.map((code) => triesOf(lean, modules.table.lean.GetCommand, code, "lean"))),
    ]);
    expect(tries).toEqual(expected);
    expect(Object.fromEntries(tries)).toMatchObject({ SlowDown: 2, ValidationException: 1 });
  });

  test("a call that a wrong clock signed is signed anew by the time of AWS, and so are later calls", async () => {
    const ahead = new Date(Date.now() + 3_600_000).toUTCString();
    const refusal = { status: 400, body: '{"__type":"x#InvalidSignatureException"}', headers: { date: ahead } };
    const client = clients.table().lean;
    const call = () => client.send(new leanTable.GetCommand({ TableName: "t", Key: { pk: "a" } }));
    answers = [refusal];
    await call();
    await call();
    const signedAt = sent.map(({ headers }) =>
      String(headers["x-amz-date"]).replace(/^(.{4})(..)(..T..)(..)/, "$1-$2-$3:$4:"),
    );
    const offMs = signedAt.map((at) => Math.abs(Date.parse(at) - Date.parse(ahead)));
    expect(offMs.map((off) => off < 60_000)).toEqual([false, true, true]);
    answers = [refusal, refusal];
    await expect(call()).rejects.toMatchObject({ name: "InvalidSignatureException" });
    expect(sent).toHaveLength(4);
  });

  test("a call fails with Node's code when nothing listens", async () => {
    const endpoint = process.env.AWS_ENDPOINT_URL_DYNAMODB;
    process.env.AWS_ENDPOINT_URL_DYNAMODB = "http://127.0.0.1:1";
    try {
      await expect(get()).rejects.toMatchObject({ code: "ECONNREFUSED" });
    } finally {
      process.env.AWS_ENDPOINT_URL_DYNAMODB = endpoint;
    }
  });

  test("a client's configuration wins over the environment", async () => {
    const config = {
      endpoint: sdkConfig.endpoint,
      region: "us-east-1",
      credentials: { ...credentials, accessKeyId: "own" },
    };
    const { AWS_ENDPOINT_URL_SQS } = process.env;
    process.env.AWS_ENDPOINT_URL_SQS = "http://127.0.0.1:1";
    try {
      const client = new leanQueues.SQSClient(config);
      await client.send(
        new leanQueues.SendMessageCommand({ QueueUrl: `${sdkConfig.endpoint}/0/queue`, MessageBody: "" }),
      );
    } finally {
      process.env.AWS_ENDPOINT_URL_SQS = AWS_ENDPOINT_URL_SQS;
    }
    expect(sent[0]?.headers.authorization).toMatch(/ Credential=own\/\d{8}\/us-east-1\/sqs\/aws4_request,/);
  });

  test("a call that was refused for good is not tried again", async () => {
    answers = [{ status: 400, body: '{"__type":"x#ValidationException","message":"wrong"}' }];
    await expect(get()).rejects.toMatchObject({ name: "ValidationException", message: "wrong" });
    expect(sent).toHaveLength(1);
  });
});

const regions = [
  ...["us-east-1", "eu-central-1", "us-gov-west-1", "cn-north-1", "eusc-de-east-1"],
  ...["us-iso-east-1", "us-isob-east-1", "us-isof-south-1", "eu-isoe-west-1"],
];

test.each(regions)("the addresses of services in %s are the SDK's, with dual stack as well", (region) => {
  for (const useDualstackEndpoint of [false, true]) {
    const env = { AWS_USE_DUALSTACK_ENDPOINT: String(useDualstackEndpoint) };
    const given = { Region: region, UseDualStack: useDualstackEndpoint, UseFIPS: false };
    const sdkHosts = {
      dynamodb: new DynamoDBClient({ region }).config.endpointProvider(given).url.host,
      sqs: new sdkQueues.SQSClient({ region }).config.endpointProvider(given).url.host,
      scheduler: new sdkScheduler.SchedulerClient({ region }).config.endpointProvider(given).url.host,
      s3: new S3Client({ region }).config.endpointProvider(given).url.host,
    };
    const hosts = Object.keys(sdkHosts).map((name) => [name, endpointOf(name, env, region).host]);
    expect(Object.fromEntries(hosts)).toEqual(sdkHosts);
  }
});

test("missing credentials are named in the error", async () => {
  const { AWS_ACCESS_KEY_ID } = process.env;
  delete process.env.AWS_ACCESS_KEY_ID;
  try {
    const call = () => clients.table().lean.send(new leanTable.GetCommand({ TableName: "t", Key: { pk: "a" } }));
    await expect(call()).rejects.toThrow(/^AWS_ACCESS_KEY_ID is not set\. Lambda/);
    process.env.AWS_CONTAINER_CREDENTIALS_FULL_URI = "http://169.254.170.23/v1/credentials";
    await expect(call()).rejects.toThrow(/AWS_CONTAINER_CREDENTIALS_FULL_URI/);
    expect(sent).toHaveLength(0);
  } finally {
    delete process.env.AWS_CONTAINER_CREDENTIALS_FULL_URI;
    process.env.AWS_ACCESS_KEY_ID = AWS_ACCESS_KEY_ID;
  }
});

test("a missing region is named when the client is made", () => {
  const region_ = process.env.AWS_REGION;
  delete process.env.AWS_REGION;
  try {
    expect(() => new LeanTableClient()).toThrow(/^AWS_REGION is not set/);
  } finally {
    process.env.AWS_REGION = region_;
  }
});

describe("attributes", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 20 });
  const number = fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e15, max: 1e15 }));
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      text,
      number.map((one) => (Object.is(one, -0) ? 0 : one)),
      fc.boolean(),
      fc.constant(null),
      fc.uint8Array({ maxLength: 20 }),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(text, tie("value"), { maxKeys: 4, noNullPrototype: true }),
    ),
  }));
  const anyItem = fc.dictionary(text, value, { maxKeys: 6, noNullPrototype: true });

  test("attributes come back as they were written, and the SDK reads them alike", () => {
    fc.assert(
      fc.property(anyItem, (given) => {
        const attributes = toAttributes(given);
        expect(fromAttributes(JSON.parse(JSON.stringify(attributes)))).toEqual(given);
        // The SDK holds bytes as bytes where the wire has Base64.
        const inMemory = JSON.parse(JSON.stringify(attributes), (key, member) =>
          key === "B" && typeof member === "string" ? new Uint8Array(Buffer.from(member, "base64")) : member,
        );
        // The SDK makes a prototype of that member.
        if (!JSON.stringify(attributes).includes('"__proto__"')) expect(unmarshall(inMemory)).toEqual(given);
      }),
    );
  });

  test("members named __proto__ are plain members and never become a prototype", () => {
    const given = JSON.parse('{"a":{"__proto__":{"admin":true},"b":1},"__proto__":"x"}');
    const back = fromAttributes(JSON.parse(JSON.stringify(toAttributes(given))));
    expect(JSON.stringify(back)).toBe(JSON.stringify(given));
    expect(Object.getPrototypeOf(back.a)).toBe(Object.prototype);
  });

  test.each([() => {}, Symbol("s"), Number.NaN, Infinity, new Set(), new Set([1, "a"])])("%s is refused", (wrong) => {
    expect(() => toAttributes({ wrong })).toThrow(TypeError);
  });
});
