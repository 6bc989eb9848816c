import { Stack } from "aws-cdk-lib";
import { AttributeType, TableV2 } from "aws-cdk-lib/aws-dynamodb";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import { Key } from "aws-cdk-lib/aws-kms";
import { Bucket } from "aws-cdk-lib/aws-s3";
import { Secret } from "aws-cdk-lib/aws-secretsmanager";
import { Topic } from "aws-cdk-lib/aws-sns";
import { Queue } from "aws-cdk-lib/aws-sqs";
import type { IConstruct } from "constructs";
import { describe, expect, test } from "vitest";
import type { TaskPipeline } from "../../lib/task-pipeline.ts";
import type { Access } from "../../lib/task-role.ts";
import { allOf, type Synthesis, synthesize } from "./synthesis.ts";

/** A pipeline, and resources of the app in a stack of their own. */
function withResources(use: (pipeline: TaskPipeline, stack: Stack) => void): Synthesis {
  return synthesize({}, (pipeline) => use(pipeline, new Stack(pipeline.node.root, "App")));
}

const workers = ["CriticalWorker", "HighWorker", "LowWorker", "NormalWorker"];

/** Names of the functions whose policy allows an action. */
const holders = ({ service }: Synthesis, action: string): string[] =>
  allOf(service, "AWS::IAM::Policy")
    .filter(({ statements }) => statements.some(({ Action }) => [Action].flat().includes(action)))
    .map(({ name }) => name.replace("/Role/DefaultPolicy", ""))
    .sort();

/** Of a bucket: actions that no function has on the bucket of Offload itself. */
const cases: [kind: string, make: (stack: Stack) => IConstruct, access: Access, actions: string[]][] = [
  ["bucket", (stack) => new Bucket(stack, "R"), "read", ["s3:GetObject*"]],
  ["bucket", (stack) => new Bucket(stack, "R"), "write", ["s3:PutObjectTagging"]],
  ["bucket", (stack) => new Bucket(stack, "R"), "readWrite", ["s3:GetObject*", "s3:PutObjectTagging"]],
  [
    "bucket with a key of its own",
    (stack) => new Bucket(stack, "R", { encryptionKey: new Key(stack, "K") }),
    "read",
    ["s3:GetObject*", "kms:Decrypt"],
  ],
  ["secret", (stack) => new Secret(stack, "R"), "read", ["secretsmanager:GetSecretValue"]],
  ["secret", (stack) => new Secret(stack, "R"), "write", ["secretsmanager:PutSecretValue"]],
  ["topic", (stack) => new Topic(stack, "R"), "write", ["sns:Publish"]],
];

describe("a grant to tasks", () => {
  test.each(cases)("a grant on a %s reaches all workers and no other function (%#)", (_, make, access, actions) => {
    const synthesis = withResources((pipeline, stack) => pipeline.grantToTasks(make(stack), access));
    expect(actions.map((action) => holders(synthesis, action))).toEqual(actions.map(() => workers));
  });

  test("a grant on a table or a queue adds a statement for that resource only", () => {
    const synthesis = withResources((pipeline, stack) => {
      const table = new TableV2(stack, "Table", { partitionKey: { name: "id", type: AttributeType.STRING } });
      pipeline.grantToTasks(table, "readWrite");
      pipeline.grantToTasks(new Queue(stack, "Queue"), "readWrite");
    });
    expect(holders(synthesis, "dynamodb:BatchWriteItem")).toEqual(workers);
    const sent = allOf(synthesis.service, "AWS::IAM::Policy").filter(({ statements }) =>
      statements.some(
        ({ Action, Resource }) => Action.includes("sqs:SendMessage") && /App/.test(JSON.stringify(Resource)),
      ),
    );
    expect(sent).toHaveLength(workers.length);
  });

  test("any grant of the CDK, and a statement, reach the workers' roles", () => {
    const synthesis = synthesize(
      { policies: [new PolicyStatement({ actions: ["ses:SendEmail"], resources: ["arn:aws:ses:::identity/a"] })] },
      (pipeline) => new Bucket(new Stack(pipeline.node.root, "App"), "B").grantDelete(pipeline.taskRole),
    );
    expect(holders(synthesis, "ses:SendEmail")).toEqual(workers);
    expect(holders(synthesis, "s3:DeleteObject*")).toEqual(workers);
  });

  test("a resource in another account names all workers in its policy", () => {
    const synthesis = withResources((pipeline, stack) => {
      const bucket = new Bucket(stack, "Bucket");
      bucket.addToResourcePolicy(
        new PolicyStatement({
          actions: ["s3:GetObject"],
          resources: [bucket.arnForObjects("*")],
          principals: [pipeline.taskRole.grantPrincipal],
        }),
      );
    });
    expect(
      synthesis.pipeline.service.resolve(synthesis.pipeline.taskRole.grantPrincipal.policyFragment.principalJson),
    ).toEqual({ AWS: expect.objectContaining({ length: 4 }) });
  });

  test("an access that a resource does not have is refused, with the way to grant it", () => {
    expect(() => withResources((pipeline, stack) => pipeline.grantToTasks(new Topic(stack, "T"), "read"))).toThrow(
      "App/T has no read access that Offload knows (grantRead, grantReadData, grantConsumeMessages): call one of its own " +
        "grants with `pipeline.taskRole`",
    );
  });
});

describe("a stack with an env beside a pipeline without one", () => {
  const env = { account: "111111111111", region: "eu-central-1" };
  const words = "is in a stack with env 111111111111/eu-central-1, and the pipeline's stacks have no env";

  test("grantToTasks says so, as the CDK's error names neither", () => {
    const use = (pipeline: TaskPipeline) =>
      pipeline.grantToTasks(new Bucket(new Stack(pipeline.node.root, "App", { env }), "Bucket"), "read");
    expect(() => synthesize({}, use)).toThrow(`grantToTasks: App/Bucket ${words}`);
  });

  test("encryptionKey says so", () => {
    const make = () => synthesize((app) => ({ encryptionKey: new Key(new Stack(app, "App", { env }), "Key") }));
    expect(make).toThrow(`encryptionKey: App/Key ${words}`);
  });

  test("a resource that is imported by its name is granted", () => {
    const { service } = synthesize({}, (pipeline) => {
      const stack = new Stack(pipeline.node.root, "App", { env });
      pipeline.grantToTasks(Bucket.fromBucketName(stack, "Bucket", "reports"), "read");
    });
    expect(JSON.stringify(service.toJSON())).toContain(":s3:::reports");
  });
});
