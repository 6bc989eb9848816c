import { describe, expect, test } from "vitest";
import { Deployment, type Stack, type Template } from "../../../src/tools/doctor/deployment.ts";

const stack = (name: string, template: Template, description = `Offload dev: ${name}`): Stack => ({
  name,
  environment: "aws://unknown-account/unknown-region",
  terminationProtection: false,
  template: { Description: description, ...template },
});

const queue = {
  Type: "AWS::SQS::Queue",
  Properties: { QueueName: "fixed-name", VisibilityTimeout: { Ref: "Seconds" } },
};

const data = stack("data", {
  Parameters: { Seconds: { Default: "90" }, Open: {} },
  Resources: {
    Queue: queue,
    Other: { Type: "AWS::SQS::Queue", Properties: { VisibilityTimeout: { Ref: "Open" } } },
    Names: {
      Type: "AWS::SSM::Parameter",
      Properties: {
        Name: "/names",
        Value: { "Fn::Join": [",", [{ Ref: "Other" }, { "Fn::GetAtt": ["Queue", "QueueName"] }]] },
      },
    },
  },
  Outputs: {
    Arn: { Value: { "Fn::GetAtt": ["Queue", "Arn"] }, Export: { Name: { "Fn::Sub": `\${AWS::StackName}:Arn` } } },
    Url: { Value: { Ref: "Queue" }, Export: { Name: "url" } },
  },
});

const names = { Type: "AWS::SSM::Parameter::Value<List<String>>", Default: "/names" };

const service = (value: unknown) =>
  stack("service", {
    Parameters: { Names: names, Missing: { ...names, Default: "/missing" } },
    Resources: { Reader: { Type: "Custom::Reader", Properties: { value } } },
  });

/** The second of the names in the SSM parameter, and values that end in it. */
const second = { "Fn::Select": [1, { Ref: "Names" }] };
const secondOf = (...start: string[]) => ({ "Fn::Join": ["", [...start, second]] });

/** What a value of the service stack's template leads to. */
function targetOf(value: unknown): string | undefined {
  const reader = service(value);
  const deployment = new Deployment([data, reader]);
  return deployment.targetOf(reader, value)?.id;
}

describe("the target of a reference", () => {
  test.each<[string, unknown]>([
    ["an output of another stack", { "Fn::GetStackOutput": { StackName: "data", OutputName: "Arn" } }],
    ["an export by name", { "Fn::ImportValue": "url" }],
    ["an export whose name is put together", { "Fn::ImportValue": { "Fn::Sub": "<AWS::StackName>:Arn" } }],
    ["an ARN with the queue's own name", { "Fn::Join": [":", ["arn:aws:sqs", { Ref: "AWS::Region" }, "fixed-name"]] }],
    ["a name in an SSM parameter", second],
    ["an ARN with a name in an SSM parameter", secondOf("arn:aws:sqs:eu-west-1:123456789012:")],
    ["a URL with a name in an SSM parameter", secondOf("https://sqs.eu-west-1.amazonaws.com/123456789012/")],
    ["a part of a text", { "Fn::Select": [1, { "Fn::Split": ["|", secondOf("a|")] }] }],
    ["an item of a list", { "Fn::Select": ["0", [second]] }],
    ["a URL with the queue's own name", "https://sqs.eu-west-1.amazonaws.com/123456789012/fixed-name"],
  ])("%s leads to its resource", (_, value) => {
    expect(targetOf(value)).toBe("Queue");
  });

  test.each<[string, unknown]>([
    ["Ref", { Ref: "Queue" }],
    ["Fn::GetAtt as a list", { "Fn::GetAtt": ["Queue", "Arn"] }],
    ["Fn::GetAtt as text", { "Fn::GetAtt": "Queue.Arn" }],
    ["Fn::Sub", { "Fn::Sub": `\${Queue.Arn}` }],
    ["Fn::Sub with values", { "Fn::Sub": [`\${it}`, { it: { Ref: "Queue" } }] }],
  ])("%s leads to its resource within the stack", (_, value) => {
    expect(new Deployment([data]).targetOf(data, value)?.id).toBe("Queue");
  });

  test.each<unknown>([
    { Ref: "Reader2" },
    { "Fn::ImportValue": "nothing" },
    { "Fn::GetStackOutput": { StackName: "elsewhere", OutputName: "Arn" } },
    { "Fn::Select": [9, { Ref: "Names" }] },
    { "Fn::Select": [0, { Ref: "Missing" }] },
    { "Fn::If": ["Condition", { Ref: "Queue" }, { Ref: "Other" }] },
    "arn:aws:sqs:eu-west-1:123456789012:other-name",
    undefined,
  ])("%j leads to no resource", (value) => {
    expect(targetOf(value)).toBeUndefined();
  });
});

describe("a number", () => {
  const deployment = new Deployment([data]);
  const [named = expect.fail("no queue"), open = expect.fail("no second queue")] = deployment.ofType("AWS::SQS::Queue");

  test("a number may be the default of a parameter", () => {
    expect(deployment.number(named, "VisibilityTimeout")).toBe(90);
  });

  test("a number is unknown where the deployment decides", () => {
    expect(deployment.number(open, "VisibilityTimeout", 30)).toBeUndefined();
  });

  test("a number is AWS's default where the template has none", () => {
    expect(deployment.number(open, "MessageRetentionPeriod", 345_600)).toBe(345_600);
  });
});

test("stacks without a pipeline are not reviewed, but references to them are followed", () => {
  const shared = stack("shared", { Resources: { Topic: { Type: "AWS::SNS::Topic" } } }, "A topic of the whole company");
  const deployment = new Deployment([shared]);
  expect([deployment.stacks, deployment.ofType("AWS::SNS::Topic")]).toEqual([[], []]);
  expect(deployment.targetOf(shared, { Ref: "Topic" })?.id).toBe("Topic");
});
