import { Annotations, Validations } from "aws-cdk-lib";
import { Connections, type ISecurityGroup, type IVpc, SecurityGroup, type SubnetSelection } from "aws-cdk-lib/aws-ec2";
import { type IGrantable, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";
import { settingError } from "./setting-error.ts";

/** VPC of the workers. */
export interface NetworkOptions {
  /**
   * VPC in which workers run, to reach databases and services that are only there. Workers in a VPC have no internet
   * access without a NAT gateway, and need endpoints or NAT for DynamoDB, SQS, EventBridge Scheduler, and for their
   * secrets.
   * @default - no VPC: workers reach the internet
   */
  readonly vpc?: IVpc;
  /**
   * Subnets of the workers.
   * @default - the private subnets of the VPC
   */
  readonly vpcSubnets?: SubnetSelection;
  /**
   * Security groups of the workers.
   * @default - one group, which allows all outgoing traffic; `TaskPipeline.connections` opens others for it
   */
  readonly securityGroups?: readonly ISecurityGroup[];
}

/** VPC of the function that sends webhooks. */
export interface WebhookNetworkOptions {
  /**
   * VPC whose NAT gateways have the addresses from which webhooks come. It needs a way to the internet, as the function
   * also calls DynamoDB, SQS, EventBridge Scheduler and Systems Manager.
   */
  readonly vpc: IVpc;
  /**
   * Subnets of the function.
   * @default - the private subnets of the VPC
   */
  readonly vpcSubnets?: SubnetSelection;
  /**
   * Security groups of the function. Nothing inside the VPC should trust them: clients choose where webhooks go.
   * @default - one group, which allows all outgoing traffic
   */
  readonly securityGroups?: readonly ISecurityGroup[];
}

/** Properties of a function in a VPC. */
export interface Network {
  readonly vpc: IVpc;
  readonly vpcSubnets?: SubnetSelection;
  readonly securityGroups: ISecurityGroup[];
}

/**
 * Network of all workers, or of the function that sends webhooks. Undefined: no VPC.
 * @throws TypeError for subnets or groups without a VPC
 */
export function networkOf(
  scope: Construct,
  { vpc, vpcSubnets, securityGroups }: NetworkOptions,
  members: "workers" | "notify" = "workers",
): Network | undefined {
  if (vpc === undefined) {
    if (vpcSubnets === undefined && securityGroups === undefined) return undefined;
    throw settingError("vpcSubnets and securityGroups need a VPC: set `vpc`, too");
  }
  if (securityGroups?.length === 0) throw settingError("securityGroups is empty: name a group, or leave it out");
  return {
    vpc,
    ...(vpcSubnets !== undefined && { vpcSubnets }),
    securityGroups: [...(securityGroups ?? [addGroup(scope, vpc, members)])],
  };
}

function addGroup(scope: Construct, vpc: IVpc, members: "workers" | "notify"): ISecurityGroup {
  const id = members === "workers" ? "WorkersSecurityGroup" : "NotifySecurityGroup";
  const group = new SecurityGroup(scope, id, { vpc, description: `Offload: ${members}` });
  const reason = "The group allows all outgoing traffic, so only the other side needs a rule.";
  for (const ip of ["ipv4", "ipv6"]) {
    Annotations.of(group).acknowledgeWarning(`@aws-cdk/aws-ec2:${ip}IgnoreEgressRule`, reason);
  }
  return group;
}

/** Rules of traffic from and to the workers. @throws TypeError without a VPC */
export function connectionsOf(network: Network | undefined): Connections {
  if (network !== undefined) return new Connections({ securityGroups: network.securityGroups });
  throw settingError("the workers are in no VPC, so they have no security groups: set `vpc`");
}

/** Permissions that Lambda needs to attach a function to a VPC. */
const attach = [
  ...["CreateNetworkInterface", "DeleteNetworkInterface", "DescribeNetworkInterfaces", "DescribeSubnets"],
  ...["AssignPrivateIpAddresses", "UnassignPrivateIpAddresses"],
].map((action) => `ec2:${action}`);

/** Grants Lambda, with the function's role, to attach the function to its VPC. */
export function allowNetwork({
  function: fn,
  grantPrincipal,
}: IGrantable & { readonly function: LambdaFunction }): void {
  grantPrincipal.addToPrincipalPolicy(new PolicyStatement({ actions: attach, resources: ["*"] }));
  Validations.of(fn.role ?? fn).acknowledge({
    id: "AwsSolutions-IAM5[Resource::*]",
    reason: "Lambda needs these actions on network interfaces whose ids nobody knows before a deployment.",
  });
}
