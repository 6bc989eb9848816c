import { LambdaClient } from "@aws-sdk/client-lambda";
import { SQSClient } from "@aws-sdk/client-sqs";
import { expect, test } from "vitest";
import { DynamoDBClient } from "#aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "#aws-sdk/lib-dynamodb";
import { liveAccount } from "../../src/aws/live-account.ts";
import { toEnv } from "../../src/settings/config.ts";
import { withRelease } from "../../src/settings/releases.ts";
import { type Answer, type Seen, StubApi } from "../tools/cli/stub-api.ts";

const urlsOf = (suffix: string) => ({
  critical: `http://sqs/critical${suffix}`,
  high: `http://sqs/high${suffix}`,
  normal: `http://sqs/normal${suffix}`,
  low: `http://sqs/low${suffix}`,
});

const pass = { at: "2027-01-01T00:20:00.000Z", whole: true, open: 3, sent: 1, ended: 0, left: 2 };
const fireEnv = toEnv({ table: "tasks", queueUrls: urlsOf(""), dlqUrls: urlsOf("-dlq") });
const worker = "Offload-dev-service-LowWorkerFunction-x1";

/** An account with one pipeline, whose lowest tier somebody has turned off. */
const answers: Record<string, (request: Seen) => Answer> = {
  "/2016-08-19/account-settings": () => ({ json: { AccountLimit: { ConcurrentExecutions: 400 } } }),
  "/2015-03-31/functions": ({ query }) =>
    query.Marker === undefined
      ? { json: { Functions: [{ FunctionName: "somebody-elses" }, { FunctionName: worker }], NextMarker: "2" } }
      : { json: { Functions: [{ FunctionName: "Offload-dev-fire" }, { FunctionName: "Offload-dev-service2-x" }] } },
  "/2015-03-31/functions/Offload-dev-fire/configuration": () => ({
    json: {
      State: "Active",
      LastUpdateStatus: "Successful",
      Description: withRelease("dispatches delayed tasks"),
      LastModified: "2026-12-24T18:20:35.054+0000",
      Environment: { Variables: fireEnv },
    },
  }),
  [`/2015-03-31/functions/${worker}/configuration`]: () => ({
    json: { State: "Active", LastUpdateStatus: "Failed", LastUpdateStatusReason: "no such layer" },
  }),
  "/2019-09-30/functions/Offload-dev-fire/concurrency": () => ({ json: {} }),
  [`/2019-09-30/functions/${worker}/concurrency`]: () => ({ json: { ReservedConcurrentExecutions: 7 } }),
  "/2015-03-31/event-source-mappings": ({ query }) => ({
    json: {
      EventSourceMappings: [{ UUID: "uuid-1", State: query.EventSourceArn === "arn:low" ? "Disabled" : "Enabled" }],
    },
  }),
  "/": ({ body }) => {
    if ("TableName" in (body as object)) return { json: { Item: { json: { S: JSON.stringify(pass) } } } };
    const name = String((body as { QueueUrl: string }).QueueUrl)
      .split("/")
      .at(-1);
    return { json: { Attributes: { QueueArn: `arn:${name}`, VisibilityTimeout: "5400" } } };
  },
};

const answer = (request: Seen): Answer =>
  answers[request.path.replace(/(?<=.)\/$/, "")]?.(request) ?? {
    status: 404,
    json: { __type: "ResourceNotFoundException", Message: "there is none" },
    type: "application/json",
  };

const clientsOf = ({ url }: StubApi) => {
  const config = {
    endpoint: url,
    region: "us-east-1",
    credentials: { accessKeyId: "test", secretAccessKey: "test" },
    maxAttempts: 1,
  };
  const table = DynamoDBDocumentClient.from(new DynamoDBClient(config));
  return { lambda: new LambdaClient(config), sqs: new SQSClient(config), table, hasRole };
};

/** One role exists, and another one may not be looked for. */
const hasRole = async (name: string) => {
  if (name === "secret") throw new Error("not authorized to perform: iam:GetRole");
  return name === "there";
};

test("the account's limit, and the functions, queues and event sources of a pipeline are read", async () => {
  await using api = await StubApi.start(answer);
  const account = await liveAccount(clientsOf(api), [{ stack: "Offload-dev-service", fireName: "Offload-dev-fire" }]);
  expect(account.concurrency).toBe(400);
  expect(account.missing).toEqual([]);
  expect(account.releases).toEqual([{ stack: "Offload-dev-service", release: "0.1.0" }]);
  expect(account.functions).toEqual([
    { name: worker, state: "Active", lastUpdate: "Failed", reason: "no such layer", reservedConcurrency: 7 },
    { name: "Offload-dev-fire", state: "Active", lastUpdate: "Successful" },
  ]);
  const place = { stack: "Offload-dev-service", tier: "low" };
  expect(account.queues).toHaveLength(8);
  expect(account.queues).toContainEqual({
    ...place,
    isDlq: false,
    attributes: { QueueArn: "arn:low", VisibilityTimeout: "5400" },
    eventSources: [{ id: "uuid-1", state: "Disabled" }],
  });
  expect(account.queues).toContainEqual({
    ...place,
    isDlq: true,
    attributes: { QueueArn: "arn:low-dlq", VisibilityTimeout: "5400" },
    eventSources: [],
  });
});

test("the last look for tasks that nothing wakes is read from the table, or the reason why it cannot be", async () => {
  const pipelines = [{ stack: "Offload-dev-service", fireName: "Offload-dev-fire" }];
  const deployed = { stack: "Offload-dev-service", deployedAt: "2026-12-24T18:20:35.054Z" };
  await using api = await StubApi.start(answer);
  expect((await liveAccount(clientsOf(api), pipelines)).reconciles).toEqual([{ ...deployed, last: pass }]);
  const key = { pk: "task#offload#rescue", sk: "part#rescue" };
  expect(api.seen.map(({ body }) => body)).toContainEqual(expect.objectContaining({ TableName: "tasks" }));
  expect(JSON.stringify(api.seen.map(({ body }) => body))).toContain(key.sk);
  const denied = { __type: "AccessDeniedException", message: "may not read" };
  await using other = await StubApi.start((request) =>
    JSON.stringify(request.body ?? "").includes("TableName") ? { status: 400, json: denied } : answer(request),
  );
  const { reconciles: rescues } = await liveAccount(clientsOf(other), pipelines);
  expect(rescues).toEqual([{ ...deployed, unread: expect.stringContaining("may not read") }]);
});

test("a look at the account only reads", async () => {
  await using api = await StubApi.start(answer);
  await liveAccount(clientsOf(api), [{ stack: "Offload-dev-service", fireName: "Offload-dev-fire" }]);
  expect(new Set(api.seen.map(({ method }) => method))).toEqual(new Set(["GET", "POST"]));
  const posted = api.seen.filter(({ method }) => method !== "GET");
  const ofQueues = { QueueUrl: expect.any(String), AttributeNames: ["All"] };
  const ofTable = { TableName: "tasks", Key: expect.anything(), ConsistentRead: true };
  const [items, queues] = [true, false].map((of) =>
    posted.filter(({ body }) => "TableName" in (body as object) === of),
  );
  expect(items?.map(({ path, body }) => [path, body])).toEqual([["/", ofTable]]);
  expect(queues?.map(({ path, body }) => [path, body])).toEqual(queues?.map(() => ["/", ofQueues]));
});

test("a pipeline that is not deployed is named as missing", async () => {
  await using api = await StubApi.start(answer);
  const account = await liveAccount(clientsOf(api), [{ stack: "Offload-prod-service", fireName: "Offload-prod-fire" }]);
  expect(account).toEqual({
    concurrency: 400,
    functions: [],
    queues: [],
    reconciles: [],
    roles: [],
    releases: [],
    readAt: expect.any(String),
    missing: ["Offload-prod-service"],
  });
});

test("roles exist, are missing, or may not be looked for, which is not an error", async () => {
  await using api = await StubApi.start(answer);
  const { roles } = await liveAccount(clientsOf(api), [], ["there", "gone", "secret"]);
  expect(roles).toEqual([
    { name: "there", exists: true },
    { name: "gone", exists: false },
    { name: "secret", unread: "not authorized to perform: iam:GetRole" },
  ]);
});

test("any other refusal of AWS is thrown", async () => {
  await using api = await StubApi.start(() => ({
    status: 403,
    json: { __type: "AccessDeniedException", Message: "not allowed" },
    type: "application/json",
  }));
  await expect(liveAccount(clientsOf(api), [])).rejects.toThrow("not allowed");
});
