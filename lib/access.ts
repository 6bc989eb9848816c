import { Validations } from "aws-cdk-lib";
import type { TableV2 } from "aws-cdk-lib/aws-dynamodb";
import { type IGrantable, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import { indexes } from "../src/config.ts";

/** What a function can be allowed to do with the table. */
export type TableAction = "GetItem" | "BatchGetItem" | "Query" | "PutItem" | "UpdateItem" | "DeleteItem";

/** Allows actions on the table's items. */
export function allowTable(who: IGrantable, table: TableV2, actions: readonly TableAction[]): void {
  allow(
    who,
    actions.map((action) => `dynamodb:${action}`),
    [table.tableArn],
  );
}

/** Allows to list by the table's indexes, each by name, and to fetch what they list. */
export function allowLists(who: IGrantable, table: TableV2): void {
  const lists = Object.values(indexes).map((name) => `${table.tableArn}/index/${name}`);
  allow(who, ["dynamodb:Query"], lists);
  allowTable(who, table, ["BatchGetItem"]);
}

/** Allows to send to queues. */
export const allowSend = (who: IGrantable, queues: readonly IQueue[]): void =>
  allowQueues(who, ["SendMessage"], queues);

/** Allows to ask how many messages queues hold. */
export const allowMeasure = (who: IGrantable, queues: readonly IQueue[]): void =>
  allowQueues(who, ["GetQueueAttributes"], queues);

/** Allows to ask CloudWatch how old the queues' messages are. */
export function allowAges(who: IGrantable & { readonly function: LambdaFunction }): void {
  allow(who, ["cloudwatch:GetMetricData"], ["*"]);
  Validations.of(who.function.role ?? who.function).acknowledge({
    id: "AwsSolutions-IAM5[Resource::*]",
    reason: "cloudwatch:GetMetricData reads numbers only, and AWS lets nobody narrow it to a resource.",
  });
}

/** Allows to take messages out of queues. */
export const allowReceive = (who: IGrantable, queues: readonly IQueue[]): void =>
  allowQueues(who, ["ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility"], queues);

function allowQueues(who: IGrantable, actions: readonly string[], queues: readonly IQueue[]): void {
  allow(
    who,
    actions.map((action) => `sqs:${action}`),
    queues.map((queue) => queue.queueArn),
  );
}

function allow(who: IGrantable, actions: string[], resources: string[]): void {
  who.grantPrincipal.addToPrincipalPolicy(new PolicyStatement({ actions, resources }));
}
