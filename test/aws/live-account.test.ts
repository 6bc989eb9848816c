import { LambdaClient } from "@aws-sdk/client-lambda";
import { SQSClient } from "@aws-sdk/client-sqs";
import { expect, test } from "vitest";
import { liveAccount } from "../../src/aws/live-account.ts";
import { toEnv } from "../../src/settings/config.ts";
import { type Answer, type Seen, StubApi } from "../cli/stub-api.ts";

const urlsOf = (suffix: string) => ({
  critical: `http://sqs/critical${suffix}`,
  high: `http://sqs/high${suffix}`,
  normal: `http://sqs/normal${suffix}`,
  low: `http://sqs/low${suffix}`,
});

const fireEnv = toEnv({ queueUrls: urlsOf(""), dlqUrls: urlsOf("-dlq") });
const worker = "Offload-dev-service-LowWorkerFunction-x1";

/** An account with one pipeline, whose lowest tier somebody has turned off. */
const answers: Record<string, (request: Seen) => Answer> = {
  "/2016-08-19/account-settings": () => ({ json: { AccountLimit: { ConcurrentExecutions: 400 } } }),
  "/2015-03-31/functions": ({ query }) =>
    query.Marker === undefined
      ? { json: { Functions: [{ FunctionName: "somebody-elses" }, { FunctionName: worker }], NextMarker: "2" } }
      : { json: { Functions: [{ FunctionName: "Offload-dev-fire" }, { FunctionName: "Offload-dev-service2-x" }] } },
  "/2015-03-31/functions/Offload-dev-fire/configuration": () => ({
    json: { State: "Active", LastUpdateStatus: "Successful", Environment: { Variables: fireEnv } },
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
  return { lambda: new LambdaClient(config), sqs: new SQSClient(config) };
};

test("the account's limit, and the functions, queues and event sources of a pipeline are read", async () => {
  await using api = await StubApi.start(answer);
  const account = await liveAccount(clientsOf(api), [{ stack: "Offload-dev-service", fireName: "Offload-dev-fire" }]);
  expect(account.concurrency).toBe(400);
  expect(account.missing).toEqual([]);
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

test("a look at the account only reads", async () => {
  await using api = await StubApi.start(answer);
  await liveAccount(clientsOf(api), [{ stack: "Offload-dev-service", fireName: "Offload-dev-fire" }]);
  expect(new Set(api.seen.map(({ method }) => method))).toEqual(new Set(["GET", "POST"]));
  const posted = api.seen.filter(({ method }) => method !== "GET");
  const ofQueues = { QueueUrl: expect.any(String), AttributeNames: ["All"] };
  expect(posted.map(({ path, body }) => [path, body])).toEqual(posted.map(() => ["/", ofQueues]));
});

test("a pipeline that is not deployed is named as missing", async () => {
  await using api = await StubApi.start(answer);
  const account = await liveAccount(clientsOf(api), [{ stack: "Offload-prod-service", fireName: "Offload-prod-fire" }]);
  expect(account).toEqual({ concurrency: 400, functions: [], queues: [], missing: ["Offload-prod-service"] });
});

test("any other refusal of AWS is thrown", async () => {
  await using api = await StubApi.start(() => ({
    status: 403,
    json: { __type: "AccessDeniedException", Message: "not allowed" },
    type: "application/json",
  }));
  await expect(liveAccount(clientsOf(api), [])).rejects.toThrow("not allowed");
});
