import { Stack, Validations } from "aws-cdk-lib";
import type { IWebSocketStage } from "aws-cdk-lib/aws-apigatewayv2";
import type { TableV2 } from "aws-cdk-lib/aws-dynamodb";
import type { ICluster } from "aws-cdk-lib/aws-ecs";
import { Effect, type IGrantable, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { Bucket } from "aws-cdk-lib/aws-s3";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { indexes } from "../src/settings/config.ts";
import { type ObjectRights, type ObjectRole, objectKeys, objectRights } from "../src/settings/object-rights.ts";
import type { DataStack } from "./data-stack.ts";
import { allowKeyOf } from "./encryption.ts";

/** DynamoDB actions that a function can be granted on the table. */
export type TableAction = "GetItem" | "BatchGetItem" | "Query" | "Scan" | "PutItem" | "UpdateItem" | "DeleteItem";

const tableWrites: readonly TableAction[] = ["PutItem", "UpdateItem", "DeleteItem"];

/** Partition keys of the items of API keys. */
export const apiKeyItems = ["key#*"];

/**
 * Grants actions on the table. No writes of API keys, which would make their writer an admin.
 * @param options `writesApiKeys`: the writes may be of API keys, too. Default: false
 */
export function allowTable(
  grantee: IGrantable,
  table: TableV2,
  actions: readonly TableAction[],
  { writesApiKeys = false }: { writesApiKeys?: boolean } = {},
): void {
  allow(
    grantee,
    actions.map((action) => `dynamodb:${action}`),
    [table.tableArn],
  );
  if (!writesApiKeys && actions.some((action) => tableWrites.includes(action))) denyApiKeys(grantee, table);
  allowKeyOf(grantee, table);
}

function denyApiKeys(grantee: IGrantable, table: TableV2): void {
  grantee.grantPrincipal.addToPrincipalPolicy(
    new PolicyStatement({
      effect: Effect.DENY,
      actions: tableWrites.map((action) => `dynamodb:${action}`),
      resources: [table.tableArn],
      conditions: { "ForAnyValue:StringLike": { "dynamodb:LeadingKeys": apiKeyItems } },
    }),
  );
}

/** Grants the authorizer to read API keys, and to note their use. */
export const allowApiKeys = (grantee: IGrantable, table: TableV2): void =>
  allowTableKeys(grantee, table, ["GetItem", "UpdateItem"], apiKeyItems);

/**
 * Grants actions on the items of the table whose partition keys match one of the patterns.
 * @param patterns Texts in which `*` stands for any text.
 */
export function allowTableKeys(
  grantee: IGrantable,
  table: TableV2,
  actions: readonly Exclude<TableAction, "BatchGetItem">[],
  patterns: readonly string[],
): void {
  grantee.grantPrincipal.addToPrincipalPolicy(
    new PolicyStatement({
      actions: actions.map((action) => `dynamodb:${action}`),
      resources: [table.tableArn],
      conditions: { "ForAllValues:StringLike": { "dynamodb:LeadingKeys": patterns } },
    }),
  );
  allowKeyOf(grantee, table);
}

/** Grants sending messages to the connections of a WebSocket API, and closing them. */
export function allowConnections(grantee: IGrantable, { api, stageName }: IWebSocketStage): void {
  for (const method of ["POST", "DELETE"]) {
    const connections = Stack.of(api).formatArn({
      service: "execute-api",
      resource: api.apiId,
      resourceName: `${stageName}/${method}/@connections/*`,
    });
    allow(grantee, ["execute-api:ManageConnections"], [connections]);
    acknowledgeAll(grantee, connections, "All connections of this deployment's own WebSocket API.");
  }
}

/**
 * Grants the containers of a cluster to protect themselves from being stopped, and to see whether a deployment replaces
 * them.
 */
export function allowProtection(grantee: IGrantable, cluster: ICluster): void {
  const reason = "All of this deployment's own cluster. The service's own name would be a circular reference.";
  const own = { "ecs:UpdateTaskProtection": "task", "ecs:DescribeServices": "service" };
  for (const [action, resource] of Object.entries(own)) {
    const resourceName = `${cluster.clusterName}/*`;
    const all = Stack.of(cluster).formatArn({ service: "ecs", resource, resourceName });
    allow(grantee, [action], [all]);
    acknowledgeAll(grantee, all, reason);
  }
}

/** Grants queries of the table's indexes, each by name, and reads of the listed records. */
export function allowLists(grantee: IGrantable, table: TableV2): void {
  const lists = Object.values(indexes).map((name) => `${table.tableArn}/index/${name}`);
  allow(grantee, ["dynamodb:Query"], lists);
  allowTable(grantee, table, ["BatchGetItem"]);
}

/**
 * Grants a role its actions on kinds of the bucket's objects, and no action on the others. The bucket cannot be
 * listed: the table has the keys of its objects.
 */
export function allowObjects(grantee: IGrantable, bucket: Bucket, role: ObjectRole): void {
  const rights: ObjectRights = objectRights[role];
  for (const [kind, actions] of Object.entries(rights)) {
    const objects = bucket.arnForObjects(objectKeys[kind as keyof typeof objectKeys]);
    allow(
      grantee,
      actions.map((action) => `s3:${action}`),
      [objects],
    );
    acknowledgeAll(
      grantee,
      objects,
      `All ${kind} in this deployment's own bucket. Their keys have ids of tenants and tasks.`,
    );
  }
  allowKeyOf(grantee, bucket);
}

/** Tells cdk-nag why a permission is for all resources under an ARN. */
function acknowledgeAll(grantee: IGrantable, arn: string, reason: string): void {
  const principal = grantee.grantPrincipal;
  if (!Construct.isConstruct(principal)) return;
  const id = `AwsSolutions-IAM5[Resource::${shown(Stack.of(principal).resolve(arn))}]`;
  Validations.of(principal).acknowledge({ id, reason });
}

/** The text that cdk-nag shows for an ARN in a template. */
function shown(value: unknown): string {
  if (typeof value === "string") return value;
  const { Ref, "Fn::Join": join } = value as { Ref?: string; "Fn::Join"?: [string, unknown[]] };
  if (join !== undefined) return join[1].map(shown).join(join[0]);
  return Ref === undefined ? JSON.stringify(value) : `<${Ref}>`;
}

/** Grants sending to queues. */
export const allowSend = (grantee: IGrantable, queues: readonly IQueue[]): void =>
  allowQueues(grantee, ["SendMessage"], queues);

/** Grants sending tasks to all queues of their tiers, and starting the container that takes them. */
export function allowSendTasks(grantee: IGrantable, data: DataStack): void {
  allowSend(grantee, data.mainQueues);
  data.containerQueues?.allowWake(grantee);
}

/**
 * Grants a worker what `task.putSchedule` and `task.deleteSchedule` need besides creating a rule: changing and deleting
 * one, and requesting its check.
 */
export function allowSchedules(grantee: IGrantable, { scheduling }: DataStack): void {
  scheduling.allowChange(grantee);
  allowSend(grantee, [scheduling.firings]);
}

/** Grants reading the number of messages in queues. */
export const allowMeasure = (grantee: IGrantable, queues: readonly IQueue[]): void =>
  allowQueues(grantee, ["GetQueueAttributes"], queues);

/** Grants reading metrics and the states of alarms from CloudWatch. */
function allowWatch(grantee: IGrantable & { readonly function: LambdaFunction }): void {
  allow(grantee, ["cloudwatch:GetMetricData", "cloudwatch:DescribeAlarms"], ["*"]);
  Validations.of(grantee.function.role ?? grantee.function).acknowledge({
    id: "AwsSolutions-IAM5[Resource::*]",
    reason:
      "They only read. AWS has no resource-level permissions for cloudwatch:GetMetricData, and a narrower cloudwatch:DescribeAlarms leaves composite alarms out.",
  });
}

/** Grants all that a submit needs, to the function submit and to programs that submit directly. */
export function allowSubmit(grantee: IGrantable, data: DataStack): void {
  const { table, bucket, scheduling } = data;
  allowTable(grantee, table, ["GetItem", "PutItem", "UpdateItem"]);
  // To compare a tenant's count of tasks in progress with the records, when the count refuses submits for a long time.
  allowLists(grantee, table);
  allowObjects(grantee, bucket, "submit");
  allowMeasure(grantee, data.mainQueues);
  allowSendTasks(grantee, data);
  scheduling.allowCreate(grantee);
}

/** Grants receiving and deleting messages of queues. */
export const allowReceive = (grantee: IGrantable, queues: readonly IQueue[]): void =>
  allowQueues(grantee, ["ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility"], queues);

function allowQueues(grantee: IGrantable, actions: readonly string[], queues: readonly IQueue[]): void {
  allow(
    grantee,
    actions.map((action) => `sqs:${action}`),
    queues.map((queue) => queue.queueArn),
  );
  for (const queue of queues) allowKeyOf(grantee, queue);
}

function allow(grantee: IGrantable, actions: string[], resources: string[]): void {
  grantee.grantPrincipal.addToPrincipalPolicy(new PolicyStatement({ actions, resources }));
}

/** Grants what operators need of the queues: their depths and ages, and sending tasks and checks of rules. */
export function allowOperate(grantee: IGrantable & { readonly function: LambdaFunction }, data: DataStack): void {
  allowMeasure(grantee, [...data.mainQueues, ...Object.values(data.dlqs)]);
  allowWatch(grantee);
  allowSendTasks(grantee, data);
  allowSend(grantee, [data.scheduling.firings]);
}
