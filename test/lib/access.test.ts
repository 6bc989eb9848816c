import { describe, expect, test } from "vitest";
import { inputKey, resultKey, uploadKey } from "../../src/core/ports/blob.ts";
import { newRecord } from "../support/records.ts";
import { allOf, inService, resources, type Statement, stage, synthesize } from "./synthesis.ts";

const dev = stage("dev");

const policies = allOf(dev.service, "AWS::IAM::Policy");
const policyOf = resources(dev.service, "AWS::IAM::Policy");

const resourcesOf = ({ Resource }: Statement): string[] => [Resource].flat().map((value) => inService(dev, value));

/** What a function may do with what, but for its own log: `CriticalQueue.Arn` to `sqs:SendMessage, ...`. */
function reachOf(functionName: string): Record<string, string> {
  const reach: Record<string, Set<string>> = {};
  for (const statement of policyOf(`${functionName}/Role/DefaultPolicy`).statements) {
    if (statement.Effect === "Deny") continue;
    for (const resource of resourcesOf(statement)) {
      if (resource === `${functionName}/Logs.Arn`) continue;
      reach[resource] ??= new Set();
      for (const action of [statement.Action].flat()) reach[resource].add(action);
    }
  }
  return Object.fromEntries(Object.entries(reach).map(([name, actions]) => [name, [...actions].sort().join(", ")]));
}

const each = (names: string[], actions: string) => Object.fromEntries(names.map((name) => [`${name}.Arn`, actions]));

const tierQueues = ["CriticalQueue", "HighQueue", "NormalQueue", "LowQueue"];
const dlqs = ["CriticalDlq", "HighDlq", "NormalDlq", "LowDlq"];
const schedules =
  "arn:<AWS::Partition>:scheduler:<AWS::Region>:<AWS::AccountId>:schedule/Offloaddevdata-Scheduling-Group-87C58A67/*";

const objectsArns = {
  inputs: "arn:<AWS::Partition>:s3:::Bucket/*/input-*",
  results: "arn:<AWS::Partition>:s3:::Bucket/*/result-*",
  uploads: "arn:<AWS::Partition>:s3:::Bucket/*/uploads/*",
};

const createSchedules = { [schedules]: "scheduler:CreateSchedule", "Scheduling/Role.Arn": "iam:PassRole" };
const manageSchedules = {
  [schedules]: "scheduler:CreateSchedule, scheduler:DeleteSchedule, scheduler:UpdateSchedule",
  "Scheduling/Role.Arn": "iam:PassRole",
};
const table = (...actions: string[]) => ({
  "Table.Arn": actions
    .map((action) => `dynamodb:${action}`)
    .sort()
    .join(", "),
});
const lists = Object.fromEntries(
  ["tenant", "principal", "dead-letters"].map((name) => [`Table.Arn/index/${name}`, "dynamodb:Query"]),
);

/** A signed URL has the permissions of the function that signed it. */
const objects = (rights: { [kind in keyof typeof objectsArns]?: string }) =>
  Object.fromEntries(Object.entries(rights).map(([kind, actions]) => [objectsArns[kind as "inputs"], actions]));

const take = "sqs:ChangeMessageVisibility, sqs:DeleteMessage, sqs:GetQueueAttributes, sqs:ReceiveMessage";
/** What an event source takes from its queue, and the actions that CDK adds to it. */
const poll =
  "sqs:ChangeMessageVisibility, sqs:DeleteMessage, sqs:GetQueueAttributes, sqs:GetQueueUrl, sqs:ReceiveMessage";

/** Sends notices of tasks that ended. */
const tell = each(["NotifyQueue"], "sqs:SendMessage");

/** The master key of webhook secrets: read, and created by its first reader. */
const webhookKey = {
  "arn:<AWS::Partition>:ssm:<AWS::Region>:<AWS::AccountId>:parameter/offload/Offload-dev/webhook-key":
    "ssm:GetParameter, ssm:PutParameter",
};

const workerOf = (tier: string) => ({
  ...table("GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"),
  ...lists,
  ...objects({
    inputs: "s3:GetObject, s3:PutObject",
    results: "s3:AbortMultipartUpload, s3:GetObject, s3:PutObject",
    uploads: "s3:GetObject",
  }),
  ...each(tierQueues, "sqs:SendMessage"),
  ...each([`${tier}Queue`], `${poll}, sqs:SendMessage`),
  ...each([`${tier}Dlq`], "sqs:SendMessage"),
  ...tell,
  // Handlers put and delete schedules.
  ...manageSchedules,
  ...each(["Scheduling/Firings"], "sqs:SendMessage"),
});

/** Operations on many tasks, which also cancel those that a schedule would start, and the purge of objects are tasks of tier high. */
const highWorker = {
  ...workerOf("High"),
  ...objects({
    inputs: "s3:DeleteObject, s3:GetObject, s3:PutObject",
    results: "s3:AbortMultipartUpload, s3:DeleteObject, s3:GetObject, s3:PutObject",
    uploads: "s3:DeleteObject, s3:GetObject",
  }),
  ...each(dlqs, take),
  ...each(["HighDlq"], `${take}, sqs:SendMessage`),
};

/** The lines of tasks. */
const taskLogs = Object.fromEntries(
  ["Submit", ...["Critical", "High", "Normal", "Low"].map((tier) => `${tier}Worker`)].map((name) => [
    ...[`${name}/Logs.Arn`, "logs:FilterLogEvents"],
  ]),
);

const expected: Record<string, Record<string, string>> = {
  Submit: {
    ...table("GetItem", "BatchGetItem", "PutItem", "UpdateItem"),
    ...lists,
    ...objects({ inputs: "s3:PutObject", uploads: "s3:GetObject, s3:PutObject" }),
    ...each(tierQueues, "sqs:GetQueueAttributes, sqs:SendMessage"),
    ...createSchedules,
  },
  Status: {
    ...table("GetItem", "BatchGetItem", "Query", "UpdateItem"),
    ...lists,
    ...objects({ results: "s3:GetObject" }),
    ...taskLogs,
  },
  Control: {
    ...table("GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"),
    ...lists,
    ...objects({ inputs: "s3:GetObject, s3:PutObject", results: "s3:DeleteObject" }),
    ...each(tierQueues, "sqs:GetQueueAttributes, sqs:SendMessage"),
    ...each(dlqs, "sqs:GetQueueAttributes"),
    "*": "cloudwatch:DescribeAlarms, cloudwatch:GetMetricData",
    ...each(["Scheduling/Firings"], "sqs:SendMessage"),
    ...tell,
    ...webhookKey,
    ...manageSchedules,
  },
  // It answers files to everybody.
  Console: {},
  Authorizer: table("GetItem", "UpdateItem"),
  CriticalWorker: workerOf("Critical"),
  HighWorker: highWorker,
  NormalWorker: workerOf("Normal"),
  LowWorker: workerOf("Low"),
  Redrive: {
    ...table("GetItem", "PutItem", "UpdateItem"),
    ...each(tierQueues, "sqs:SendMessage"),
    ...each(dlqs, "sqs:SendMessage"),
    ...each(["RedriveQueue"], poll),
    ...tell,
    ...createSchedules,
  },
  Fire: {
    ...table("GetItem", "Query", "Scan", "PutItem", "UpdateItem", "DeleteItem"),
    ...each(tierQueues, "sqs:GetQueueAttributes, sqs:SendMessage"),
    ...each(["Scheduling/Firings"], `${poll}, sqs:SendMessage`),
    ...objects({ inputs: "s3:PutObject" }),
    ...tell,
    ...manageSchedules,
  },
  Notify: {
    ...table("BatchGetItem", "GetItem", "PutItem", "Query", "UpdateItem"),
    ...each(["NotifyQueue"], `${poll}, sqs:SendMessage`),
    ...webhookKey,
    ...createSchedules,
  },
};

test("each function has a role of its own, and there are no other policies", () => {
  expect(policies.map(({ name }) => name).sort()).toEqual(
    Object.keys(expected)
      .map((name) => `${name}/Role/DefaultPolicy`)
      .sort(),
  );
});

test.each(Object.entries(expected))("%s has the permissions that it needs, and no others", (name, reach) => {
  expect(reachOf(name)).toEqual(reach);
});

describe("API keys", () => {
  const writes = ["dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem"];
  const ofTable = (name: string) =>
    policyOf(`${name}/Role/DefaultPolicy`).statements.filter((statement) =>
      resourcesOf(statement).includes("Table.Arn"),
    );
  const writesTable = ({ Effect, Action, Condition }: Statement) =>
    Effect === "Allow" && Condition === undefined && [Action].flat().some((action) => writes.includes(action));
  const writers = Object.keys(expected).filter((name) => ofTable(name).some(writesTable));

  test.each(writers.filter((name) => name !== "Control"))("%s may not write an API key", (name) => {
    expect(ofTable(name)).toContainEqual({
      Effect: "Deny",
      Action: expect.toSatisfy((actions: string[]) => actions.toSorted().join() === writes.toSorted().join()),
      Resource: expect.anything(),
      Condition: { "ForAnyValue:StringLike": { "dynamodb:LeadingKeys": ["key#*"] } },
    });
  });

  test("the authorizer may read and note the use of API keys, and nothing else of the table", () => {
    expect(ofTable("Authorizer")).toMatchObject([
      { Effect: "Allow", Condition: { "ForAllValues:StringLike": { "dynamodb:LeadingKeys": ["key#*"] } } },
    ]);
  });

  test("only control writes API keys", () => {
    expect(writers).toContain("Submit");
    const denied = writers.filter((name) => ofTable(name).some(({ Effect }) => Effect === "Deny"));
    expect(writers.filter((name) => !denied.includes(name))).toEqual(["Control"]);
  });
});

test.each(["Control", "Notify"])("%s may create the webhooks' master key, and never replace it", (name) => {
  expect(policyOf(`${name}/Role/DefaultPolicy`).statements).toContainEqual({
    Effect: "Deny",
    Action: "ssm:PutParameter",
    Resource: expect.anything(),
    Condition: { StringEquals: { "ssm:Overwrite": "true" } },
  });
});

describe("status", () => {
  const writesOf = (synthesis: typeof dev) =>
    resources(
      synthesis.service,
      "AWS::IAM::Policy",
    )("Status/Role/DefaultPolicy")
      .statements.map(({ Action, Condition }) => ({
        actions: [Action].flat().filter((action) => !/^(logs|xray):|:(Get|BatchGet|Query)/.test(action)),
        condition: Condition,
      }))
      .filter(({ actions }) => actions.length > 0);

  test("status may write only the places of requests that wait", () => {
    expect(writesOf(dev)).toEqual([
      {
        actions: ["dynamodb:UpdateItem"],
        condition: { "ForAllValues:StringLike": { "dynamodb:LeadingKeys": ["waits#*"] } },
      },
    ]);
  });

  test("status may only read where no request waits", () => {
    expect(writesOf(synthesize({ waits: 0 }))).toEqual([]);
    expect(writesOf(synthesize({ profile: "small" }))).toEqual([]);
  });
});

/** The pattern of a resource, as IAM reads it: a star fits slashes as well. */
const inIam = (arn: string): RegExp => new RegExp(`^${arn.slice(arn.indexOf("Bucket/")).replaceAll("*", ".*")}$`);

test("the key of each kind of object fits the rights on its kind, and on no other", () => {
  const record = newRecord();
  const keys = {
    inputs: inputKey(record, "0".repeat(64)),
    results: resultKey(record),
    uploads: uploadKey("a/input-b", record.task_id),
  };
  for (const [kind, key] of Object.entries(keys)) {
    const fitting = Object.entries(objectsArns).filter(([, arn]) => inIam(arn).test(`Bucket/${key}`));
    expect(fitting.map(([name]) => name)).toEqual([kind]);
  }
});

test("submit may not delete", () => {
  const actions = Object.values(reachOf("Submit")).flatMap((text) => text.split(", "));
  expect(actions.filter((action) => action.includes("Delete"))).toEqual([]);
});

describe.each([
  ["data", dev.data],
  ["service", dev.service],
])("policies of the %s stack", (_, template) => {
  const all = allOf(template, "AWS::IAM::Policy").flatMap(({ statements }) => statements);

  test("no action is allowed by a wildcard", () => {
    expect(all).not.toEqual([]);
    expect(all.flatMap(({ Action }) => Action).filter((action) => action.includes("*"))).toEqual([]);
  });

  test("no resource is allowed by a wildcard, except the own schedules and objects, and what AWS cannot restrict", () => {
    const narrow = all.filter(({ Action }) => ![Action].flat().includes("cloudwatch:GetMetricData"));
    const open = narrow.flatMap(resourcesOf).filter((resource) => resource.includes("*"));
    expect(open.filter((resource) => ![schedules, ...Object.values(objectsArns)].includes(resource))).toEqual([]);
  });
});

test("a function can pass on only the scheduler's role, and only to EventBridge Scheduler", () => {
  const passing = policies
    .flatMap(({ statements }) => statements)
    .filter(({ Action }) => [Action].flat().includes("iam:PassRole"));
  for (const statement of passing) {
    expect(statement.Action).toBe("iam:PassRole");
    expect(resourcesOf(statement)).toEqual(["Scheduling/Role.Arn"]);
    expect(statement.Condition).toEqual({ StringEquals: { "iam:PassedToService": "scheduler.amazonaws.com" } });
  }
  expect(passing).toHaveLength(9);
});
