import { expect, test } from "vitest";
import { allOf, inService, resources, type Synthesis, stage, synthesize, synthesizeChecked } from "./synthesis.ts";

const made = synthesize({ push: true });

/** Actions of a role's policy, with what they are allowed on. */
const allowed = ({ service }: Synthesis, role: string) =>
  resources(
    service,
    "AWS::IAM::Policy",
  )(`${role}/Role/DefaultPolicy`).statements.map(({ Action, Resource, Condition }) => ({
    actions: [Action].flat().sort(),
    on: [Resource].flat().map((value) => inService(made, value)),
    condition: Condition,
  }));

test("a deployment has no WebSocket API by default", () => {
  const { service } = stage("dev");
  const apis = Object.values(service.findResources("AWS::ApiGatewayV2::Api"));
  expect(apis.map(({ Properties }) => Properties.ProtocolType)).toEqual(["HTTP"]);
  expect(JSON.stringify(service.toJSON())).not.toContain("OFFLOAD_SOCKET");
});

test("with push it has one, whose three routes lead to the function socket, and it passes all checks", () => {
  const { service } = synthesizeChecked({ push: true });
  service.hasResourceProperties("AWS::ApiGatewayV2::Api", { ProtocolType: "WEBSOCKET" });
  const routes = allOf(service, "AWS::ApiGatewayV2::Route").filter(({ name }) => name.startsWith("Push/"));
  expect(routes.map((route) => route.get("RouteKey")).sort()).toEqual(["$connect", "$default", "$disconnect"]);
  service.resourceCountIs("AWS::ApiGatewayV2::RouteResponse", 1);
  service.hasOutput("ChannelUrl", {});
});

test("messages have throttles of their own, and no log gets a ticket", () => {
  made.service.hasResourceProperties("AWS::ApiGatewayV2::Stage", {
    StageName: "v1",
    DefaultRouteSettings: { ThrottlingRateLimit: 500, ThrottlingBurstLimit: 1000 },
    RouteSettings: { $default: { ThrottlingRateLimit: 500, ThrottlingBurstLimit: 1000 } },
  });
  const stages = Object.values(made.service.findResources("AWS::ApiGatewayV2::Stage"));
  expect(stages.map(({ Properties }) => Properties.AccessLogSettings !== undefined).sort()).toEqual([false, true]);
  expect(JSON.stringify(stages)).not.toMatch(/querystring|queryString/);
});

test("the function socket may use only the items of channels and connections, and read API keys", () => {
  expect(allowed(made, "Push/Socket").filter(({ actions }) => !actions[0]?.startsWith("logs:"))).toEqual([
    {
      actions: ["dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"],
      on: ["Table.Arn"],
      condition: {
        "ForAllValues:StringLike": {
          "dynamodb:LeadingKeys": ["channel#*", "connection#*", "connections#*", "listeners#*"],
        },
      },
    },
    {
      actions: ["dynamodb:GetItem"],
      on: ["Table.Arn"],
      condition: { "ForAllValues:StringLike": { "dynamodb:LeadingKeys": ["key#*"] } },
    },
  ]);
});

test("control gets the URL of channels", () => {
  const control = resources(made.service, "AWS::Lambda::Function")("Control/Function");
  expect(inService(made, control.get("Environment.Variables.OFFLOAD_SOCKET_URL"))).toMatch(/^wss:\/\/.*\/v1$/);
});

test("a function that sends messages may reach only the connections of this API, and all checks pass", () => {
  const sending = synthesizeChecked({ push: true }, ({ service }) => service.push?.allowSend(service.push.socket));
  const [connections] = allowed(sending, "Push/Socket").filter(({ actions }) => actions[0]?.startsWith("execute-api:"));
  expect(connections?.actions).toEqual(["execute-api:ManageConnections"]);
  expect(connections?.on.join()).toMatch(/execute-api:.*\/v1\/POST\/@connections\/\*$/);
});

test("the function socket has the alarms of every function", () => {
  const names = allOf(made.service, "AWS::CloudWatch::Alarm").map(({ name }) => name);
  expect(names.filter((name) => name.includes("socket")).sort()).toEqual([
    "Alarms/socket-failing-functions",
    "Alarms/socket-throttled-functions",
  ]);
});
