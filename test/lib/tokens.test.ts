import { type App, Aws, CfnParameter, Duration, Stack, Token } from "aws-cdk-lib";
import { UserPool } from "aws-cdk-lib/aws-cognito";
import { EventBus } from "aws-cdk-lib/aws-events";
import { Secret } from "aws-cdk-lib/aws-secretsmanager";
import { StringParameter } from "aws-cdk-lib/aws-ssm";
import { describe, expect, test } from "vitest";
import type { TaskPipelineProps } from "../../lib/pipeline-props.ts";
import { isArn, knownPart, listText, numberText } from "../../lib/tokens.ts";
import { allOf, type Props, resources, synthesize } from "./synthesis.ts";

/** Values of a stack of the app, which only a deployment knows. */
function shopOf(app: App): Props {
  const shop = new Stack(app, "Shop");
  const layer = StringParameter.fromStringParameterName(shop, "Layer", "/shop/layer").stringValue;
  return {
    jwt: {
      issuer: new UserPool(shop, "Users").userPoolProviderUrl,
      audience: "offload",
      jwksUrl: Token.asString({ Ref: "AWS::StackName" }),
      algorithms: Token.asList({ Ref: "AWS::NotificationARNs" }),
      clockSkew: Duration.seconds(Token.asNumber({ Ref: "AWS::StackName" })),
      console: { clientId: "console", origins: [Aws.STACK_NAME, "https://login.example.com"] },
    },
    tracing: { layerArn: layer },
    callbackHosts: [`${Aws.STACK_NAME}.internal:8443`],
    listShards: Token.asNumber({ Ref: "AWS::StackName" }),
    limits: { tenants: { tasksInProgress: Token.asNumber({ Ref: "AWS::StackName" }) } },
    throttle: { requestsPerSecond: Token.asNumber({ Ref: "AWS::StackName" }), burst: 5 },
    events: { busName: new EventBus(shop, "Bus").eventBusArn },
    alarmEmail: Aws.STACK_NAME,
  };
}

describe("values that only a deployment knows", () => {
  const { service } = synthesize(shopOf);
  const variablesOf = (name: string) =>
    resources(service, "AWS::Lambda::Function")(`${name}/Function`).get("Environment.Variables") as Record<
      string,
      unknown
    >;

  test("are in the settings of the functions, which check them", () => {
    const { OFFLOAD_JWT_ISSUER: issuer, ...others } = variablesOf("Authorizer");
    expect(JSON.stringify(issuer)).toContain("ProviderURL");
    expect(others).toMatchObject({
      OFFLOAD_JWT_JWKS_URL: { Ref: "AWS::StackName" },
      OFFLOAD_JWT_CLOCK_SKEW_SECONDS: { Ref: "AWS::StackName" },
      OFFLOAD_JWT_ALGORITHMS: { "Fn::Join": [",", { Ref: "AWS::NotificationARNs" }] },
    });
    expect(variablesOf("Submit")).toMatchObject({
      OFFLOAD_LIST_SHARDS: { Ref: "AWS::StackName" },
      OFFLOAD_CALLBACK_HOSTS: { "Fn::Join": ["", [{ Ref: "AWS::StackName" }, ".internal:8443"]] },
    });
    expect(JSON.stringify(variablesOf("Submit").OFFLOAD_LIMITS)).toContain(
      '\\"tasks_in_progress\\":",{"Ref":"AWS::StackName"}',
    );
  });

  test("reach rates, layers and subscriptions", () => {
    const [stage] = allOf(service, "AWS::ApiGatewayV2::Stage");
    expect(stage?.get("DefaultRouteSettings.ThrottlingRateLimit")).toEqual({ Ref: "AWS::StackName" });
    expect(allOf(service, "AWS::SNS::Subscription")[0]?.get("Endpoint")).toEqual({ Ref: "AWS::StackName" });
    expect(JSON.stringify(resources(service, "AWS::Lambda::Function")("Submit/Function").get("Layers"))).toMatch(
      /Ref|Fn::/,
    );
  });

  test("the ARN of a bus is the resource of its permission as it is", () => {
    const put = allOf(service, "AWS::IAM::Policy")
      .flatMap(({ statements }) => statements)
      .find(({ Action: action }) => action === "events:PutEvents");
    const text = JSON.stringify(put?.Resource);
    expect(text).toContain("Arn");
    expect(text).not.toContain("event-bus/");
  });
});

test.each<[string, TaskPipelineProps]>([
  ["stage", { stage: Aws.STACK_NAME }],
  ["workerMemorySize", { workerMemorySize: Token.asNumber({ Ref: "Memory" }) }],
  ["waits", { waits: Token.asNumber({ Ref: "Waits" }) }],
  ["accountConcurrency", { accountConcurrency: Token.asNumber({ Ref: "Limit" }) }],
  ["tiers.low.maxConcurrency", { tiers: { low: { maxConcurrency: Token.asNumber({ Ref: "Low" }) } } }],
  ["tiers.low.timeout", { tiers: { low: { timeout: Duration.seconds(Token.asNumber({ Ref: "Low" })) } } }],
  ["containers.maxTasks", { containers: { maxTasks: Token.asNumber({ Ref: "Most" }) } }],
  ["alarms.depth.low", { alarms: { depth: { low: Token.asNumber({ Ref: "Depth" }) } } }],
])("%s must be known at synth, and says so", (name, props) => {
  expect(() => synthesize(props)).toThrow(`${name} must be known at synth`);
});

test("an ARN is known by its text, or by the attribute that it is", () => {
  const stack = new Stack();
  const bus = new EventBus(stack, "Bus");
  const secret = new Secret(stack, "Secret");
  const parameter = new StringParameter(stack, "Parameter", { stringValue: "x" });
  expect([bus.eventBusArn, secret.secretArn, parameter.parameterArn].map((one) => isArn(one, false))).toEqual([
    ...[true, true, true],
  ]);
  expect([bus.eventBusName, parameter.parameterName, "shop"].map((one) => isArn(one, true))).toEqual([
    ...[false, false, false],
  ]);
  expect(isArn(new CfnParameter(stack, "Given").valueAsString, true)).toBe(true);
});

test("a parameter of the app may be a secret, by its name", () => {
  const { service } = synthesize((app) => {
    const parameter = new StringParameter(new Stack(app, "Shop"), "Key", { stringValue: "x" });
    return { secrets: { STRIPE_KEY: { parameterName: parameter.parameterName } } };
  });
  const read = allOf(service, "AWS::IAM::Policy")
    .flatMap(({ statements }) => statements)
    .find(({ Action: action }) => action === "ssm:GetParameter");
  expect(JSON.stringify(read?.Resource)).toContain(":ssm:");
});

test("texts of numbers and lists stay what they are when they are known", () => {
  expect([numberText(8), listText(["a", "b"]), knownPart({ a: 1, b: { c: Token.asNumber({ Ref: "C" }) } })]).toEqual([
    ...["8", "a,b", { a: 1, b: {} }],
  ]);
});
