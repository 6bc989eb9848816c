import { Stack } from "aws-cdk-lib";
import { type IGrantable, PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { IConstruct } from "constructs";
import { PipelineStack } from "./pipeline-stack.ts";

/** The key of a pipeline's data. Undefined: AWS's own keys. */
export function keyOf(construct: IConstruct): IKey | undefined {
  const stack = Stack.of(construct);
  return stack instanceof PipelineStack ? stack.encryptionKey : undefined;
}

/** The key of log groups, as their properties. */
export function encryptedLogs(scope: IConstruct): { readonly encryptionKey?: IKey } {
  const key = keyOf(scope);
  return key === undefined ? {} : { encryptionKey: key };
}

/** Name of the access log's group for which CloudWatch Logs needs no entry in its policy. */
export const vendedLogName = (deployment: string): string => `/aws/vendedlogs/${deployment}-requests`;

/**
 * A program does this with the key of the table, a queue and the bucket that it reads or writes: DynamoDB needs all of
 * these, S3 and SQS some.
 */
const dataActions = ["Decrypt", "DescribeKey", "Encrypt", "GenerateDataKey", "ReEncryptFrom", "ReEncryptTo"];

/** Services through which roles use the key. */
const dataServices = ["dynamodb", "s3", "sqs"];

/**
 * Grants the use of the key that a resource is encrypted with, if it is not one of AWS's own: only through the services
 * that have the data.
 */
export function allowKeyOf(grantee: IGrantable, resource: IConstruct): void {
  const key = keyOf(resource);
  if (key === undefined) return;
  const { region } = Stack.of(resource);
  const services = dataServices.map((service) => `${service}.${region}.amazonaws.com`);
  grantee.grantPrincipal.addToPrincipalPolicy(
    new PolicyStatement({
      actions: dataActions.map((action) => `kms:${action}`),
      resources: [key.keyArn],
      conditions: { StringEquals: { "kms:ViaService": services } },
    }),
  );
}

/**
 * Lets services of AWS use the key for a deployment: CloudWatch Logs for its log groups, CloudWatch for the topic of
 * alarms, EventBridge for the queue of events that it could not deliver. They use it as themselves, so the key's policy
 * has to allow it. The policy of a key that is imported stays as it is.
 */
export function allowServices(stack: Stack, deployment: string): void {
  const key = keyOf(stack);
  if (key === undefined) return;
  const { region, account, partition } = stack;
  const arn = (service: string, resource: string) => `arn:${partition}:${service}:${region}:${account}:${resource}`;
  const use = ["kms:Decrypt", "kms:GenerateDataKey*"];
  const allow = (service: string, actions: readonly string[], conditions: Record<string, unknown>) =>
    key.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal(service)],
        actions: [...actions],
        resources: ["*"],
        conditions,
      }),
    );
  const names = [`${deployment}-*`, `/aws/vendedlogs/${deployment}-*`];
  const groups = { "kms:EncryptionContext:aws:logs:arn": names.map((name) => arn("logs", `log-group:${name}`)) };
  allow(`logs.${region}.amazonaws.com`, [...use, "kms:Encrypt", "kms:ReEncrypt*", "kms:DescribeKey"], {
    ArnLike: groups,
  });
  const from = (source: string) => ({
    StringEquals: { "aws:SourceAccount": account },
    ArnLike: { "aws:SourceArn": source },
  });
  allow("cloudwatch.amazonaws.com", use, from(arn("cloudwatch", `alarm:${deployment}-*`)));
  allow("events.amazonaws.com", use, from(arn("events", "rule/*")));
}
