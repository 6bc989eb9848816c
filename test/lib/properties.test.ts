import { type App, Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { Distribution } from "aws-cdk-lib/aws-cloudfront";
import { HttpOrigin } from "aws-cdk-lib/aws-cloudfront-origins";
import { Alarm, MathExpression, Metric } from "aws-cdk-lib/aws-cloudwatch";
import { PolicyDocument, Role } from "aws-cdk-lib/aws-iam";
import { Key } from "aws-cdk-lib/aws-kms";
import {
  Alias,
  Code,
  type FunctionProps,
  type IVersion,
  Function as LambdaFunction,
  Runtime,
  SingletonFunction,
} from "aws-cdk-lib/aws-lambda";
import { Bucket } from "aws-cdk-lib/aws-s3";
import { Secret } from "aws-cdk-lib/aws-secretsmanager";
import { StringParameter } from "aws-cdk-lib/aws-ssm";
import { describe, expect, test } from "vitest";
import { consoleHost } from "../../lib/observability/dashboard.ts";
import { temporaryFolder } from "../../lib/task-code.ts";
import { pipelineOf } from "../support/pipeline-of.ts";
import { newApp } from "./apps.ts";
import { allOf, echo, resources, stage, synthesize, synthesizeChecked } from "./synthesis.ts";

const env = { account: "111111111111", region: "eu-central-1" };

const code: FunctionProps = { runtime: Runtime.NODEJS_24_X, handler: "index.handler", code: Code.fromInline("//") };

const functionIn = (scope: Stack, id = "Caller") => new LambdaFunction(scope, id, code);

const variablesIn = (stack: Stack): Record<string, unknown>[] =>
  allOf(Template.fromStack(stack), "AWS::Lambda::Function").map(
    (one) => (one.get("Environment.Variables") ?? {}) as Record<string, unknown>,
  );

describe("properties that an app wires with", () => {
  const { pipeline } = stage("prod");

  test("are constructs of the CDK", () => {
    expect(pipeline.api.apiId).toBeDefined();
    expect(pipeline.apiUrl).toBe(pipeline.service.api.url);
    expect(pipeline.alarmTopic?.topicArn).toBeDefined();
    expect(pipeline.alarms.length).toBeGreaterThan(50);
    expect(pipeline.dashboard?.dashboardName).toBeDefined();
    expect(Object.keys(pipeline.functions)).toEqual(
      expect.arrayContaining(["submit", "status", "control", "fire", "notify", "critical-worker"]),
    );
    expect(Object.keys(pipeline.queues)).toEqual(["critical", "high", "normal", "low"]);
    expect(Object.keys(pipeline.deadLetterQueues)).toEqual(["critical", "high", "normal", "low"]);
  });

  test("are absent where the deployment has none", () => {
    const { pipeline: bare } = synthesize({ alarms: false, dashboard: false });
    expect([bare.alarmTopic, bare.alarms, bare.dashboard]).toEqual([undefined, [], undefined]);
  });

  test("metrics are of all tiers, or of one", () => {
    expect(pipeline.metricSubmitted()).toBeInstanceOf(MathExpression);
    expect(pipeline.metricFailed({ priority: "low" })).toMatchObject({
      metricName: "failed",
      namespace: "Offload",
      dimensions: { service: "Offload-prod", tier: "low" },
      statistic: "Sum",
    });
    expect(pipeline.metricDeadLetters({ priority: "high" })).toBeInstanceOf(Metric);
    expect(pipeline.metricBacklog()).toMatchObject({ expression: "SUM([m0, m1, m2, m3])" });
    expect(pipeline.metricOldestMessage()).toMatchObject({ expression: "MAX([m0, m1, m2, m3])" });
    expect(pipeline.metricQueueWait({ priority: "low" })).toMatchObject({ statistic: "p99" });
  });

  test("an alarm of another stack may watch them", () => {
    const made = synthesize({}, (used) => {
      new Alarm(new Stack(used.node.root, "Ops"), "Failed", {
        metric: used.metricDeadLetters(),
        threshold: 0,
        evaluationPeriods: 1,
      });
    });
    expect(made.service).toBeDefined();
  });
});

describe("grants to submit", () => {
  test("two deployments of one function need a prefix, which the error names", () => {
    const pipeline = pipelineOf(newApp(), { types: [echo] });
    const shop = new Stack(pipeline.node.root, "Shop");
    const caller = functionIn(shop);
    const second = pipelineOf(new Stack(pipeline.node.root, "Two"), { types: [echo] }, { deploymentName: "Billing" });
    pipeline.grantSubmit(caller);
    pipeline.grantSubmit(caller);
    expect(() => second.grantSubmit(caller)).toThrow(
      /Caller already submits to Offload-dev.*grantSubmit\(fn, \{ prefix/,
    );
    expect(() => second.grantSubmit(caller, { prefix: "1-" })).toThrow("prefix must be at most 40 letters");
    second.grantSubmit(caller, { prefix: "BILLING_" });
    const [variables = {}] = variablesIn(shop);
    expect(Object.keys(variables)).toEqual(expect.arrayContaining(["OFFLOAD_TABLE", "BILLING_OFFLOAD_TABLE"]));
    expect(variables.OFFLOAD_TABLE).not.toEqual(variables.BILLING_OFFLOAD_TABLE);
  });

  test("by an alias, a version or a singleton reach the function", () => {
    const pipeline = pipelineOf(newApp(), { types: [echo] });
    const stacks = ["A", "B", "C"].map((id) => new Stack(pipeline.node.root, id));
    const [a, b, c] = stacks as [Stack, Stack, Stack];
    pipeline.grantSubmit(
      new Alias(a, "Live", { aliasName: "live", version: functionIn(a).currentVersion as IVersion }),
    );
    pipeline.grantSubmit(functionIn(b).currentVersion);
    pipeline.grantSubmit(new SingletonFunction(c, "One", { ...code, uuid: "1" }));
    for (const stack of stacks) expect(variablesIn(stack)[0]).toHaveProperty("OFFLOAD_TABLE");
  });

  test("of an imported function say that its variables have to be set elsewhere", () => {
    const pipeline = pipelineOf(newApp(), { types: [echo] });
    const shop = new Stack(pipeline.node.root, "Shop");
    const arn = "arn:aws:lambda:eu-central-1:111111111111:function:caller";
    const imported = LambdaFunction.fromFunctionArn(shop, "Imported", arn);
    pipeline.grantSubmit(imported);
    expect(imported.node.metadata.map(({ data }) => String(data))).toEqual(
      expect.arrayContaining([expect.stringContaining("grantSubmit cannot set the variables")]),
    );
  });

  test("of a program in another account or Region say that it has to use the HTTP API", () => {
    const pipeline = pipelineOf(newApp(), { types: [echo] }, { env });
    const elsewhere = new Stack(pipeline.node.root, "Us", { env: { ...env, region: "us-east-1" } });
    expect(() => pipeline.grantSubmit(functionIn(elsewhere))).toThrow(/Us is in another account or Region .*HTTP API/);
  });

  test.each([undefined, "caller", {}])("of %j are refused", (caller) => {
    const refused = () => pipelineOf(newApp(), { types: [echo] }).grantSubmit(caller as never);
    expect(refused).toThrow("grantSubmit needs a function, a role or another principal of the CDK, got");
  });

  test("of a function whose distribution may call the API make no circle", () => {
    let shop: Stack | undefined;
    const made = synthesize(
      (app: App) => {
        shop = new Stack(app, "Shop");
        const site = new Distribution(shop, "Site", { defaultBehavior: { origin: new HttpOrigin("example.com") } });
        return { cors: { allowOrigins: [`https://${site.distributionDomainName}`] } };
      },
      (pipeline) => pipeline.grantSubmit(functionIn(shop as Stack)),
    );
    const [rule] = resources(
      made.data,
      "AWS::S3::Bucket",
    )("Bucket").list<{ AllowedOrigins: unknown }>("CorsConfiguration.CorsRules");
    expect(rule?.AllowedOrigins).toEqual(["*"]);
  });
});

describe("grants to tasks", () => {
  test("reach a bucket of another account, which names the workers' roles", () => {
    const pipeline = pipelineOf(newApp(), { types: [echo] }, { env, containers: {} });
    const other = new Stack(pipeline.node.root, "Other", { env: { ...env, account: "222222222222" } });
    pipeline.grantToTasks(new Bucket(other, "Bucket", { bucketName: "reports-of-ours" }), "read");
    const [policy] = allOf(Template.fromStack(other), "AWS::S3::BucketPolicy");
    const named = JSON.stringify(policy?.get("PolicyDocument")).match(/iam::111111111111:role\/[\w-]+/g) ?? [];
    const roles = allOf(Template.fromStack(pipeline.service), "AWS::IAM::Role").map((role) => role.get("RoleName"));
    expect(named.map((arn) => arn.split("/")[1]).sort()).toEqual(roles.filter((name) => name !== undefined).sort());
    expect(named).toHaveLength(5);
  });

  test("of what is no resource, or of no access, are refused", () => {
    const pipeline = pipelineOf(newApp(), { types: [echo] });
    const bucket = new Bucket(new Stack(pipeline.node.root, "Shop"), "Bucket");
    expect(() => pipeline.grantToTasks("arn:aws:s3:::b" as never, "read")).toThrow(
      "grantToTasks needs a resource of the CDK",
    );
    expect(() => pipeline.grantToTasks(bucket, "admin" as never)).toThrow(
      'the access to Shop/Bucket must be read, write or readWrite, got "admin"',
    );
  });
});

test("a metric or a priority that does not exist is refused", () => {
  const pipeline = pipelineOf(newApp(), { types: [echo] });
  expect(() => pipeline.metric("submited" as never)).toThrow('"submited" is not a metric; did you mean submitted?');
  expect(() => pipeline.metricBacklog({ priority: "urgent" as never })).toThrow('"urgent" is not a priority');
});

test("secrets and parameters of the CDK may be given as they are", () => {
  const app = newApp();
  const shop = new Stack(app, "Shop");
  const environment = { variables: {}, secrets: { DB: { secretName: "db" }, KEY: { secretName: "key" } } };
  const secrets = {
    DB: new Secret(shop, "Secret"),
    KEY: StringParameter.fromSecureStringParameterAttributes(shop, "Key", { parameterName: "/shop/key" }),
  };
  const { service } = pipelineOf(app, { types: [echo], environment }, { secrets });
  const actions = allOf(Template.fromStack(service), "AWS::IAM::Policy").flatMap(({ statements }) =>
    statements.flatMap(({ Action: action }) => action),
  );
  expect(actions).toEqual(expect.arrayContaining(["secretsmanager:GetSecretValue", "ssm:GetParameter"]));
});

test("an app that brings its roles along may have a pipeline", () => {
  const own = (app: App) => pipelineOf(app, { types: [echo] }, { stage: "prod", alarmEmail: "team@example.com" });
  const roles = own(newApp())
    .node.findAll()
    .filter((one) => one instanceof Role);
  const app = newApp();
  Role.customizeRoles(app, {
    usePrecreatedRoles: Object.fromEntries(roles.map(({ node }, at) => [node.path, `r${at}`])),
  });
  expect(allOf(Template.fromStack(own(app).service), "AWS::IAM::Role")).toEqual([]);
});

test("many pipelines in one process do not warn of a leak of listeners", () => {
  const before = process.listenerCount("exit");
  for (let made = 0; made < 12; made++) temporaryFolder("offload-test-");
  expect(process.listenerCount("exit") - before).toBeLessThanOrEqual(1);
});

test("a grant of a secret with a key of its own makes no circle", () => {
  const made = synthesize({}, (pipeline) => {
    const shop = new Stack(pipeline.node.root, "Shop");
    pipeline.grantToTasks(new Secret(shop, "Secret", { encryptionKey: new Key(shop, "Key") }), "readWrite");
  });
  const text = JSON.stringify(allOf(made.service, "AWS::IAM::Policy").flatMap(({ statements }) => statements));
  for (const action of ["GetSecretValue", "PutSecretValue"]) expect(text).toContain(`secretsmanager:${action}`);
  expect(text).toContain("kms:Encrypt");
});

describe("a key of the app", () => {
  const policy = new PolicyDocument();
  const made = synthesizeChecked((app) => ({
    stage: "prod",
    alarmEmail: "team@example.com",
    encryptionKey: new Key(new Stack(app, "Keys"), "Key", { enableKeyRotation: true, policy }),
    containers: {},
    events: true,
    push: true,
  }));
  const { data, service, pipeline } = made;
  const key = (value: unknown) => JSON.stringify(value) ?? "";

  test("encrypts all that is stored", () => {
    const table = resources(data, "AWS::DynamoDB::GlobalTable")("Table");
    expect(table.get("SSESpecification")).toEqual({ SSEEnabled: true, SSEType: "KMS" });
    const queues = allOf(data, "AWS::SQS::Queue");
    expect(queues.map((queue) => key(queue.get("KmsMasterKeyId")).includes("Key"))).toEqual(queues.map(() => true));
    const logs = allOf(service, "AWS::Logs::LogGroup");
    expect(logs.map((group) => key(group.get("KmsKeyId")).includes("Key"))).toEqual(logs.map(() => true));
    expect(key(allOf(service, "AWS::SNS::Topic")[0]?.get("KmsMasterKeyId"))).toContain("Key");
    expect(key(allOf(data, "AWS::S3::Bucket")[0]?.get("BucketEncryption"))).toContain("aws:kms");
  });

  test("may be used by every role that reads or writes data", () => {
    const policies = [...allOf(data, "AWS::IAM::Policy"), ...allOf(service, "AWS::IAM::Policy")];
    for (const { name, statements } of policies) {
      const actions = statements.flatMap(({ Action: action }) => action);
      const needsKey = actions.some(
        (action) => /^(dynamodb|sqs|s3):/.test(action) && action !== "s3:GetBucketLocation",
      );
      if (needsKey) expect([name, actions.includes("kms:GenerateDataKey")]).toEqual([name, true]);
    }
  });

  test("lets the services use it that write for the deployment", () => {
    const text = key((pipeline.node.root.node.findChild("Keys") as Stack).resolve(policy));
    for (const service of ["logs.", "cloudwatch.amazonaws.com", "events.amazonaws.com"])
      expect(text).toContain(service);
  });
});

test.each([
  ["eu-central-1", "eu-central-1.console.aws.amazon.com"],
  ["cn-north-1", "cn-north-1.console.amazonaws.cn"],
  ["us-gov-west-1", "us-gov-west-1.console.amazonaws-us-gov.com"],
  ["eusc-de-east-1", "eusc-de-east-1.console.amazonaws-eusc.eu"],
])("the console of %s is at %s", (region, host) => {
  expect(consoleHost(region)).toBe(host);
});
