import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AwsAccount } from "../../src/aws/verified/aws-account.ts";
import { runQuery, savedQueries } from "../../src/aws/verified/log-queries.ts";
import { toEnv } from "../../src/settings/config.ts";

const arn = (service: string, name: string) => `arn:aws:${service}:eu-central-1:111122223333:${name}`;
const fireArn = arn("lambda", "function:Offload-dev-fire");
const dlqUrl = "https://sqs.eu-central-1.amazonaws.com/111122223333/Offload-dev-data-SchedulingDlq-1";

/** Resources of the stacks, as CloudFormation lists them: type, logical id, physical id. */
const resources = {
  "Offload-dev-service": [
    ["AWS::Lambda::Function", "FireFunction1", "Offload-dev-fire"],
    ["AWS::Lambda::Function", "StatusFunction1", "Offload-dev-service-Status"],
    ["AWS::Lambda::Function", "WakeFunction1", "Offload-dev-wake"],
    ["AWS::Logs::LogGroup", "FireLogs1", "fire-logs"],
    ["AWS::Logs::LogGroup", "ApiRequestLog1", "access-log"],
  ],
  "Offload-dev-data": [["AWS::SQS::Queue", "SchedulingDlq1", dlqUrl]],
};

const schedules = toEnv({
  ...{ scheduleGroup: "group", fireArn, schedulerRoleArn: arn("iam", "role/r"), table: "table" },
  schedulerDlqArn: arn("sqs", "firings"),
});
const variables: Record<string, object> = {
  "Offload-dev-fire": schedules,
  "Offload-dev-service-Status": { OFFLOAD_LOG_GROUPS: JSON.stringify({ critical: "critical-logs" }) },
  "Offload-dev-wake": toEnv({ containerService: "cluster/service" }),
};

const oneOff = {
  ...{ Name: "t1.1.2", GroupName: "group", ScheduleExpression: "at(2027-01-01T00:00:00)" },
  ...{ FlexibleTimeWindow: { Mode: "OFF" }, ActionAfterCompletion: "DELETE" },
  Target: { Arn: fireArn, RoleArn: "r", Input: "{}", DeadLetterConfig: { Arn: "q" } },
};

/** Two minutes of the function of schedules, which has 512 MB, and one of the status function. */
const measured = [
  ...[
    { Id: "invocations0", Values: [3, 2] },
    { Id: "duration0", Values: [1_500, 500] },
  ],
  ...[
    { Id: "invocations1", Values: [1] },
    { Id: "duration1", Values: [2_000] },
  ],
];

const seen: { method: string; path: string; target: string; body: string }[] = [];

/** Answers as AWS does, in the words of each service. */
function answerTo({ method, url = "", headers }: IncomingMessage, body: string): string {
  const path = url.split("?")[0] ?? "";
  const target = String(headers["x-amz-target"] ?? "");
  seen.push({ method: method ?? "", path, target, body });
  const form = new URLSearchParams(body);
  if (form.get("Action") === "DescribeStacks") return stackXml;
  if (form.get("Action") === "ListStackResources") return resourcesXml(form.get("StackName") ?? "");
  if (path.includes("/functions/")) {
    const name = path.split("/functions/")[1]?.split("/")[0] ?? "";
    return JSON.stringify({ FunctionName: name, MemorySize: 512, Environment: { Variables: variables[name] } });
  }
  if (path === "/schedules") return JSON.stringify({ Schedules: [{ Name: oneOff.Name }] });
  if (path.startsWith("/schedules/")) return JSON.stringify(oneOff);
  if (target.endsWith("ReceiveMessage")) {
    return JSON.stringify({
      Messages: ["other", "mine"].map((name) => ({
        ...{ Body: name, ReceiptHandle: `of-${name}`, MD5OfBody: createHash("md5").update(name).digest("hex") },
      })),
    });
  }
  if (target.endsWith("DescribeServices")) return JSON.stringify({ services: [{ desiredCount: 1, runningCount: 2 }] });
  if (target.endsWith("GetMetricData")) return JSON.stringify({ MetricDataResults: measured });
  if (path === "/Traces") return JSON.stringify({ Traces: [{ Segments: [{}, {}] }] });
  return "{}";
}

const xml = (action: string, result: string) =>
  `<${action}Response xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><${action}Result>${result}</${action}Result></${action}Response>`;

const stackXml = xml(
  "DescribeStacks",
  `<Stacks><member><StackName>Offload-dev-service</StackName><Description>Offload dev: service</Description>
  <StackId>${arn("cloudformation", "stack/Offload-dev-service/1")}</StackId><CreationTime>2027-01-01T00:00:00Z</CreationTime>
  <StackStatus>CREATE_COMPLETE</StackStatus>
  <Outputs><member><OutputKey>ApiUrl</OutputKey><OutputValue>https://api.example</OutputValue></member></Outputs></member></Stacks>`,
);

const resourcesXml = (stack: string) =>
  xml(
    "ListStackResources",
    `<StackResourceSummaries>${(resources[stack as keyof typeof resources] ?? [])
      .map(
        ([type, id, name]) =>
          `<member><ResourceType>${type}</ResourceType><LogicalResourceId>${id}</LogicalResourceId>
          <PhysicalResourceId>${name}</PhysicalResourceId><ResourceStatus>CREATE_COMPLETE</ResourceStatus></member>`,
      )
      .join("")}</StackResourceSummaries>`,
  );

describe("the account of a deployment", () => {
  let server: Server;
  let account: AwsAccount;

  beforeAll(async () => {
    server = createServer(async (request, response) => {
      const answer = answerTo(request, await text(request));
      response.setHeader("content-type", answer.startsWith("<") ? "text/xml" : "application/json");
      response.end(answer);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    for (const name of Object.keys(process.env).filter((one) => one.startsWith("AWS_"))) delete process.env[name];
    Object.assign(process.env, { AWS_ENDPOINT_URL: url, AWS_REGION: "eu-central-1" });
    Object.assign(process.env, { AWS_ACCESS_KEY_ID: "k", AWS_SECRET_ACCESS_KEY: "s" });
    account = await AwsAccount.open("Offload-dev-data");
  });
  afterAll(async () => {
    account.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  test("it is found by either stack, with what the stacks say", () => {
    expect(account.facts).toMatchObject({
      ...{ accountId: "111122223333", region: "eu-central-1", deployment: "Offload-dev", stage: "dev", table: "table" },
      ...{ url: "https://api.example", isTraced: false, containers: { cluster: "cluster", service: "service" } },
      ...{ logGroups: ["fire-logs"], workerLogs: { critical: "critical-logs" } },
    });
  });

  test("a one-off schedule is found, and broken as it is but for its target", async () => {
    expect(await account.oneOffOf("t1")).toEqual({ name: oneOff.Name, expression: oneOff.ScheduleExpression });
    await account.breakOneOff(oneOff.Name);
    const { Name: _, Target, ...rule } = oneOff;
    expect(JSON.parse(seen.findLast(({ method }) => method === "PUT")?.body ?? "")).toMatchObject({
      ...rule,
      Target: { ...Target, Arn: `${fireArn}-missing`, RetryPolicy: { MaximumRetryAttempts: 0 } },
    });
  });

  test("a schedule as those in code are has their DLQ", async () => {
    await account.createBroken("mine", Date.parse("2027-01-01T00:01:00Z"));
    const { body } = seen.findLast(({ method, path }) => method === "POST" && path === "/schedules/mine") ?? {};
    expect(JSON.parse(body ?? "")).toMatchObject({
      ...{ GroupName: "group", ScheduleExpression: "at(2027-01-01T00:01:00)", ActionAfterCompletion: "DELETE" },
      Target: {
        DeadLetterConfig: { Arn: arn("sqs", "Offload-dev-data-SchedulingDlq-1") },
        Input: '{"verify":"mine"}',
      },
    });
  });

  test("of the messages in the DLQ only its own is deleted, within the client's patience", async () => {
    expect(await account.takeDeadFiring("mine")).toEqual({ body: "mine", attributes: [] });
    const received = seen.findLast(({ target }) => target.endsWith("ReceiveMessage"));
    expect(JSON.parse(received?.body ?? "").WaitTimeSeconds).toBeLessThan(5);
    const deleted = seen.filter(({ target }) => target.endsWith("DeleteMessage")).map(({ body }) => JSON.parse(body));
    expect(deleted).toMatchObject([{ ReceiptHandle: "of-mine" }]);
  });

  test("the function of schedules gets an input, and nobody waits for its end", async () => {
    await account.fireWith('{"Records":[null]}');
    const { path, body } = seen.at(-1) ?? {};
    expect([decodeURIComponent(path ?? ""), body]).toEqual([
      `/2015-03-31/functions/${fireArn}/invocations`,
      '{"Records":[null]}',
    ]);
  });

  test("the functions' time is the sum of their metrics times their memory", async () => {
    expect(await account.usage(1_000)).toEqual({ invocations: 6, gbSeconds: 2 });
    expect(JSON.parse(seen.at(-1)?.body ?? "")).toMatchObject({ StartTime: 1 });
  });

  test("containers and traces are read with the same credentials", async () => {
    expect(await account.containers()).toEqual({ desired: 1, running: 2 });
    expect(await account.segmentsOf("0123456789abcdef0123456789abcdef")).toBe(2);
    expect(seen.at(-1)?.body).toBe('{"TraceIds":["1-01234567-89abcdef0123456789abcdef"]}');
  });
});

describe("queries of Logs Insights", () => {
  const query = { text: "stats count(*)", logGroups: ["a"] };
  const calling = (...states: object[]) => ({
    logs: async (operation: string): Promise<Record<string, unknown>> =>
      operation === "StartQuery" ? { queryId: "q" } : { ...states.shift() },
  });

  test("the answer is that of a query that is complete", async () => {
    const results = [[{ field: "cold", value: "3" }]];
    const calls = calling({ status: "Running" }, { status: "Complete", results, statistics: { bytesScanned: 9 } });
    expect(await runQuery(calls, query, 0)).toEqual({ rows: [{ cold: "3" }], bytes: 9 });
  });

  test("a query that fails is an error", async () => {
    await expect(runQuery(calling({ status: "Failed" }), query, 0)).rejects.toThrow("ended as Failed");
  });

  test("saved queries lose the deployment's name", async () => {
    const found = [{ name: "Offload-dev/crashes", queryString: "q", logGroupNames: ["a"] }];
    const calls = { logs: async () => ({ queryDefinitions: found }) };
    expect(await savedQueries(calls, "Offload-dev")).toEqual([{ name: "crashes", text: "q", logGroups: ["a"] }]);
  });
});
