import { type App, Aspects, Validations } from "aws-cdk-lib";
import { CfnApi, CfnRouteResponse } from "aws-cdk-lib/aws-apigatewayv2";
import { CfnAlarm, CfnCompositeAlarm } from "aws-cdk-lib/aws-cloudwatch";
import { Policy, PolicyStatement } from "aws-cdk-lib/aws-iam";
import { CfnEventSourceMapping, CfnFunction } from "aws-cdk-lib/aws-lambda";
import { CfnQueryDefinition } from "aws-cdk-lib/aws-logs";
import { CfnQueue } from "aws-cdk-lib/aws-sqs";
import type { IConstruct } from "constructs";

/*
 * Fits an app to emulated accounts: few invocations at once, as each is a process of its own, and permissions in the words that
 * the emulator checks. It imports nothing of this project, so that a test can copy it into another one.
 * - AWS has no actions of SQS's batch calls: `sqs:SendMessage` allows both. The emulator asks for `sqs:SendMessageBatch`.
 * - The emulator takes every schedule for one of the group `default`.
 * - Its CloudFormation refers to a log group without the `:*` at the end: a policy of a group's lines names no group then.
 * - Its CloudFormation refers to a secret by the name, where AWS has the ARN: a policy names no secret then.
 * - Its CloudFormation knows no metric math in alarms, no composite alarms, and no saved queries: such alarms watch a metric
 *   that nobody writes, the queries are left out.
 * - Its CloudFormation does not know the resource that returns a function's answer to a WebSocket, and its gateway needs none.
 * - It tells APIs apart by the path, also where a function sends a message to a WebSocket.
 * - It ends functions that run while they are updated, which AWS lets finish: their messages come back after a minute, not
 *   after six time-outs of the function.
 * - It has no SDK for functions that come without one, such as the CDK's that empties a bucket: that one is left out.
 */
const defaultGroup = "arn:aws:scheduler:*:*:schedule/default/*";
const anySecret = "arn:aws:secretsmanager:*:*:secret:*";
const anyLogGroup = "arn:aws:logs:*:*:log-group:*";

/** A message whose function has died comes back after this time at the latest, unless a worker has said otherwise. */
const hiddenSeconds = 60;

/** Name under which a bucket has the resource that empties it before its deletion. */
const emptiesBucket = "AutoDeleteObjectsCustomResource";

const batched = ["sqs:SendMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"];

interface Statement {
  Action: string | string[];
  Resource: unknown;
}

/** Changes an app, before it is synthesized. */
export function emulate(app: App): void {
  Aspects.of(app).add({
    visit(node) {
      if (node instanceof CfnEventSourceMapping) node.scalingConfig = { maximumConcurrency: 4 };
      if (node instanceof CfnQueue) bringBackSoon(node);
      fitAlarm(node);
      if (isUnknown(node)) node.node.scope?.node.tryRemoveChild(node.node.id);
      if (node instanceof Policy) widen(node);
      if (node instanceof CfnApi && node.protocolType === "WEBSOCKET") sendByPath(node);
    },
  });
  for (const words of [defaultGroup, anyLogGroup]) {
    Validations.of(app).acknowledge({
      id: `AwsSolutions-IAM5[Resource::${words}]`,
      reason: "Only for the emulator, which has no other words for it.",
    });
  }
}

const isUnknown = (node: IConstruct): boolean =>
  node instanceof CfnQueryDefinition || node instanceof CfnRouteResponse || node.node.id === emptiesBucket;

function bringBackSoon(queue: CfnQueue): void {
  queue.visibilityTimeout = Math.min(queue.visibilityTimeout ?? hiddenSeconds, hiddenSeconds);
}

function widen(policy: Policy): void {
  const { Statement: statements = [] } = (policy.document.toJSON() ?? {}) as { Statement?: Statement[] };
  for (const statement of statements) {
    const actions = [statement.Action].flat();
    const batches = actions.filter((action) => batched.includes(action)).map((action) => `${action}Batch`);
    if (batches.length > 0) add(policy, { ...statement, Action: batches });
    const schedules = actions.filter((action) => action.startsWith("scheduler:"));
    if (schedules.length > 0) add(policy, { ...statement, Action: schedules, Resource: defaultGroup });
    const secrets = actions.filter((action) => action.startsWith("secretsmanager:"));
    if (secrets.length > 0) add(policy, { ...statement, Action: secrets, Resource: anySecret });
    const logs = actions.filter((action) => action === "logs:FilterLogEvents");
    if (logs.length > 0) add(policy, { ...statement, Action: logs, Resource: anyLogGroup });
  }
}

function fitAlarm(node: IConstruct): void {
  if (node instanceof CfnAlarm && node.metrics !== undefined) watchNothing(node, "Metrics");
  if (node instanceof CfnCompositeAlarm) watchNothing(node, "AlarmRule");
}

function watchNothing(alarm: CfnAlarm | CfnCompositeAlarm, instead: "Metrics" | "AlarmRule"): void {
  alarm.addOverride("Type", CfnAlarm.CFN_RESOURCE_TYPE_NAME);
  alarm.addPropertyDeletionOverride(instead);
  const nothing = { Namespace: "Emulated", MetricName: "none", Statistic: "Sum", Period: 60 };
  const always = { Threshold: 0, EvaluationPeriods: 1, ComparisonOperator: "GreaterThanThreshold" };
  for (const [name, value] of Object.entries({ ...nothing, ...always })) alarm.addPropertyOverride(name, value);
}

/** Functions whose environment has the URL of an API's WebSockets get one whose path names the API. */
function sendByPath(api: CfnApi): void {
  const url = `https://execute-api.${api.stack.region}.amazonaws.com/_aws/execute-api/${api.ref}/v1`;
  for (const node of api.stack.node.findAll()) {
    if (!(node instanceof CfnFunction)) continue;
    const { variables = {} } = api.stack.resolve(node.environment) ?? {};
    if ("OFFLOAD_SOCKET_ENDPOINT" in variables) {
      node.addPropertyOverride("Environment.Variables.OFFLOAD_SOCKET_ENDPOINT", url);
    }
  }
}

const add = (policy: Policy, statement: Statement) => policy.addStatements(PolicyStatement.fromJson(statement));
