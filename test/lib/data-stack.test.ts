import { describe, expect, test } from "vitest";
import { title } from "../../lib/per-tier.ts";
import { tiers } from "../../src/core/model/words.ts";
import { allOf, inData, inService, type Resource, resources, stage } from "./synthesis.ts";

const dev = stage("dev");
const prod = stage("prod");
const queues = resources(dev.data, "AWS::SQS::Queue");
const table = resources(dev.data, "AWS::DynamoDB::GlobalTable")("Table");
const day = 24 * 3600;

const finalQueues = ["CriticalDlq", "HighDlq", "NormalDlq", "LowDlq", "RedriveDlq", "Scheduling/Dlq"];
const stateful = [
  "AWS::DynamoDB::GlobalTable",
  "AWS::S3::Bucket",
  "AWS::SQS::Queue",
  "AWS::Scheduler::ScheduleGroup",
  "AWS::IAM::Role",
];

describe("the table", () => {
  test("the table is on demand", () => {
    expect(table.get("BillingMode")).toBe("PAY_PER_REQUEST");
  });

  test("the table has text keys pk and sk", () => {
    expect(table.get("KeySchema")).toEqual([
      { AttributeName: "pk", KeyType: "HASH" },
      { AttributeName: "sk", KeyType: "RANGE" },
    ]);
    const attributes = table.list<{ AttributeType: string }>("AttributeDefinitions");
    expect(attributes.filter(({ AttributeType }) => AttributeType !== "S")).toEqual([]);
  });

  test("the table deletes items by purge_at", () => {
    expect(table.get("TimeToLiveSpecification")).toEqual({ AttributeName: "purge_at", Enabled: true });
  });

  test("the table can be restored to any point in time", () => {
    expect(table.get("Replicas.0.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled")).toBe(true);
  });

  test.each([
    ["tenant", "tenant_pk", "tenant_sk", ["task_id", "tenant_id", "type", "priority"]],
    ["principal", "principal_pk", "principal_sk", ["task_id", "tenant_id", "type", "priority"]],
    ["dead-letters", "dead_letter_pk", "dead_letter_sk", ["task_id", "tenant_id"]],
  ])("the table has index %s, which holds only what never changes", (IndexName, hash, range, NonKeyAttributes) => {
    expect(table.get("GlobalSecondaryIndexes")).toContainEqual({
      IndexName,
      KeySchema: [
        { AttributeName: hash, KeyType: "HASH" },
        { AttributeName: range, KeyType: "RANGE" },
      ],
      Projection: { ProjectionType: "INCLUDE", NonKeyAttributes },
    });
  });
});

describe.each(tiers)("tier %s", (tier) => {
  const queue = queues(`${title(tier)}Queue`);

  test("the queue hides messages for six time-outs of its worker", () => {
    expect(queue.get("VisibilityTimeout")).toBe(6 * 900);
  });

  test("the queue gives messages up after five receives, to redrive", () => {
    expect(queue.get("RedrivePolicy.maxReceiveCount")).toBe(5);
    expect(inData(dev, queue.get("RedrivePolicy.deadLetterTargetArn"))).toBe("RedriveQueue.Arn");
  });

  test("the queue keeps messages for 14 days", () => {
    expect(queue.get("MessageRetentionPeriod")).toBe(14 * day);
  });

  test("the queue is not a dead-letter queue of others", () => {
    expect(queue.get("RedriveAllowPolicy")).toEqual({ redrivePermission: "denyAll" });
  });
});

describe("the redrive queue", () => {
  const queue = queues("RedriveQueue");

  test("the redrive queue hides messages for six time-outs of redrive", () => {
    expect(queue.get("VisibilityTimeout")).toBe(6 * 60);
  });

  test("the redrive queue gives messages up to a queue of its own, later than a tier does", () => {
    expect(inData(dev, queue.get("RedrivePolicy.deadLetterTargetArn"))).toBe("RedriveDlq.Arn");
    expect(queue.get("RedrivePolicy.maxReceiveCount")).toBe(20);
  });

  test("the redrive queue keeps messages longer than a tier, as moved messages keep their age", () => {
    expect(queue.get("MessageRetentionPeriod")).toBe(14 * day);
  });
});

test.each(finalQueues)("%s keeps messages as long as SQS can", (name) => {
  expect(queues(name).get("MessageRetentionPeriod")).toBe(14 * day);
});

describe.each(allOf(dev.data, "AWS::SQS::Queue"))("queue $name", (queue) => {
  const policies = allOf(dev.data, "AWS::SQS::QueuePolicy").filter(
    (policy) => inData(dev, policy.get("Queues.0")) === queue.name,
  );

  test("the queue is encrypted", () => {
    expect(queue.get("SqsManagedSseEnabled")).toBe(true);
  });

  test("the queue refuses requests without TLS", () => {
    expect(policies.flatMap(({ statements }) => statements)).toEqual([
      expect.objectContaining({
        Effect: "Deny",
        Principal: { AWS: "*" },
        Action: "sqs:*",
        Condition: { Bool: { "aws:SecureTransport": "false" } },
      }),
    ]);
  });
});

describe("data that outlives a deployment", () => {
  /** The CDK's function that empties the bucket of `dev` has a role without data. */
  const isEmptying = ({ logicalId }: Resource) => logicalId.startsWith("CustomS3AutoDeleteObjects");
  const keptBy = (template: typeof dev.data): Resource[] =>
    stateful.flatMap((type) => allOf(template, type)).filter((resource) => !isEmptying(resource));

  test("the data goes with its stack in dev", () => {
    expect(new Set(keptBy(dev.data).map(({ json }) => json.DeletionPolicy))).toEqual(new Set(["Delete"]));
    expect(dev.pipeline.data.terminationProtection).toBe(false);
  });

  test("the data stays in prod, whose data stack and table refuse to be deleted", () => {
    const policies = keptBy(prod.data).flatMap(({ json }) => [json.DeletionPolicy, json.UpdateReplacePolicy]);
    // Not what a first deployment created before it failed: names that stay would keep the next one from creating them.
    expect(new Set(policies)).toEqual(new Set(["RetainExceptOnCreate", "Retain"]));
    expect(new Set(keptBy(prod.data).map(({ json }) => json.UpdateReplacePolicy))).toEqual(new Set(["Retain"]));
    expect(prod.pipeline.data.terminationProtection).toBe(true);
    const kept = resources(prod.data, "AWS::DynamoDB::GlobalTable")("Table");
    expect(kept.get("Replicas.0.DeletionProtectionEnabled")).toBe(true);
  });

  /** Another logical id is another resource: CloudFormation would replace the data by nothing. */
  test("the data keeps its logical ids", () => {
    expect(
      keptBy(dev.data)
        .map(({ logicalId }) => logicalId)
        .sort(),
    ).toEqual([
      "Bucket83908E77",
      "CriticalDlq2773CC66",
      "CriticalQueueB3F3FD81",
      "HighDlq18D88D92",
      "HighQueueF7CC6383",
      "LowDlq26E8303C",
      "LowQueue9A2B8D54",
      "NormalDlqDF5FB4F2",
      "NormalQueueFA47CC4D",
      "NotifyDlq8139C716",
      "NotifyQueueB34E1758",
      "RedriveDlq1E0AA4EF",
      "RedriveQueue11DA1988",
      "SchedulingDlq8B4BA1CB",
      "SchedulingFiringsAF5D9CB5",
      "SchedulingGroup2B5E8D3E",
      "SchedulingRoleE44197CE",
      "TableCD117FA1",
    ]);
  });
});

test("the data stack has one output, which names the table", () => {
  const outputs = dev.data.toJSON().Outputs;
  expect(Object.keys(outputs)).toEqual(["TableName"]);
  expect(inData(dev, outputs.TableName.Value)).toBe("Table");
});

describe("names for the service stack", () => {
  const [parameter] = allOf(dev.data, "AWS::SSM::Parameter");

  test("the names are in an SSM parameter that is named after the stack", () => {
    expect(parameter?.get("Name")).toBe("/offload/Offload-dev-data");
    expect(parameter?.get("Type")).toBe("StringList");
  });

  /** The two stacks are deployed one after the other: a name at another position would be another resource meanwhile. */
  test("the names keep their positions", () => {
    const [, names = []] = parameter?.list<unknown[]>("Value.Fn::Join") ?? [];
    expect(names.map((name) => inData(dev, name))).toEqual([
      "Table",
      "Scheduling/Role.Arn",
      "RedriveQueue.QueueName",
      "RedriveDlq.QueueName",
      "Scheduling/Firings.QueueName",
      "Scheduling/Dlq.QueueName",
      ...tiers.map((tier) => `${title(tier)}Queue.QueueName`),
      ...tiers.map((tier) => `${title(tier)}Dlq.QueueName`),
      "Bucket",
      "NotifyQueue.QueueName",
      "NotifyDlq.QueueName",
    ]);
  });

  test("the service stack reads them, after the data stack is deployed", () => {
    expect(Object.values(dev.service.toJSON().Parameters)).toContainEqual(
      expect.objectContaining({
        Type: "AWS::SSM::Parameter::Value<List<String>>",
        Default: parameter?.get("Name"),
      }),
    );
    expect(dev.pipeline.service.dependencies).toContain(dev.pipeline.data);
    expect(JSON.stringify(dev.service.toJSON())).not.toContain("Fn::GetStackOutput");
  });

  /** Another logical id is a second event source of the same queue and function, which Lambda refuses. */
  test("the event sources keep their logical ids", () => {
    const ids = allOf(dev.service, "AWS::Lambda::EventSourceMapping").map(({ logicalId }) => logicalId);
    expect(ids.sort()).toMatchInlineSnapshot(`
      [
        "CriticalWorkerFunctionSqsEventSourceOffloadDataCriticalQueueAC7401206C024689",
        "FireFunctionSqsEventSourceOffloadDataSchedulingFirings2545BD510BBB91E3",
        "HighWorkerFunctionSqsEventSourceOffloadDataHighQueueDF73AD9FBB90705A",
        "LowWorkerFunctionSqsEventSourceOffloadDataLowQueue27A1939B0B9F0B86",
        "NormalWorkerFunctionSqsEventSourceOffloadDataNormalQueueADED57BB51852BD9",
        "NotifyFunctionSqsEventSourceOffloadDataNotifyQueue517A893E12ADDE21",
        "RedriveFunctionSqsEventSourceOffloadDataRedriveQueueA49E117CDB5CAB0D",
      ]
    `);
  });
});

test("the outputs of the service stack, which cdk deploy prints last, are for people", () => {
  const outputs = dev.service.toJSON().Outputs;
  expect(Object.keys(outputs).sort()).toEqual(["ApiUrl", "CreateKeyCommand", "DashboardUrl", "Release"]);
  expect(inService(dev, outputs.CreateKeyCommand.Value)).toBe(
    "npx offload keys create --table Table --tenant acme --role operator",
  );
});
