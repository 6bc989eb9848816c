import { Arn, ArnFormat, type RemovalPolicy, Stack, Validations } from "aws-cdk-lib";
import { type IGrantable, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { ScheduleGroup } from "aws-cdk-lib/aws-scheduler";
import { Construct } from "constructs";
import { ruleNameOf } from "../src/core/schedules/trigger.ts";
import type { SettingTexts } from "../src/settings/config.ts";
import { allowKeyOf } from "./encryption.ts";
import { DeadLetterQueue, FiringQueue } from "./queue.ts";

export interface SchedulingProps {
  /** Name of the fire function, the target of every schedule. */
  readonly fireName: string;
  readonly removalPolicy: RemovalPolicy;
}

/**
 * The group of all schedules, and the role and queues that a schedule needs to invoke fire. A schedule names its
 * target, its role and its DLQ, and outlives deployments of code. So role and queues are in the data stack, and the
 * target's name is fixed.
 */
export class Scheduling extends Construct {
  /** Deleting the group deletes its schedules. */
  readonly group: ScheduleGroup;
  /** Queue of firings that were not delivered or that failed. The fire function consumes it. */
  readonly firings: FiringQueue;
  /** DLQ of firings that failed on every retry. */
  readonly dlq: DeadLetterQueue;
  /** Role with which EventBridge Scheduler invokes fire. */
  readonly role: Role;
  readonly fireArn: string;

  constructor(scope: Construct, id: string, props: SchedulingProps) {
    super(scope, id);
    const { removalPolicy } = props;
    const stack = Stack.of(this);
    this.fireArn = stack.formatArn({
      service: "lambda",
      resource: "function",
      resourceName: props.fireName,
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
    this.group = new ScheduleGroup(this, "Group", { removalPolicy });
    this.dlq = new DeadLetterQueue(this, "Dlq", removalPolicy);
    this.firings = new FiringQueue(this, "Firings", { deadLetterQueue: this.dlq, removalPolicy });
    this.role = new Role(this, "Role", {
      assumedBy: new ServicePrincipal("scheduler.amazonaws.com", {
        conditions: {
          StringEquals: { "aws:SourceAccount": stack.account },
          ArnEquals: { "aws:SourceArn": this.group.scheduleGroupArn },
        },
      }),
    });
    this.role.applyRemovalPolicy(removalPolicy);
    this.role.addToPolicy(new PolicyStatement({ actions: ["lambda:InvokeFunction"], resources: [this.fireArn] }));
    // The queues of schedules: of tasks that wait, and of the app's own.
    allowKeyOf(this.role, this);
    const queues = [this.firings.queueArn, this.dlq.queueArn];
    this.role.addToPolicy(new PolicyStatement({ actions: ["sqs:SendMessage"], resources: queues }));
  }

  /** Settings of functions that create schedules. */
  get settings(): SettingTexts {
    return {
      scheduleGroup: this.group.scheduleGroupName,
      fireArn: this.fireArn,
      schedulerRoleArn: this.role.roleArn,
      schedulerDlqArn: this.firings.queueArn,
    };
  }

  /** Grants creating schedules in the group, and passing this role to them. */
  allowCreate(grantee: IGrantable): void {
    this.allow(grantee, ["CreateSchedule"]);
  }

  /** Grants changing and deleting schedules of the group. */
  allowChange(grantee: IGrantable): void {
    this.allow(grantee, ["UpdateSchedule", "DeleteSchedule"]);
  }

  /** Grants creating, changing and deleting schedules of the group. */
  allowManage(grantee: IGrantable): void {
    this.allow(grantee, ["CreateSchedule", "UpdateSchedule", "DeleteSchedule"]);
  }

  /** Lets EventBridge send the events that a rule of a trigger could not deliver to the queue of firings. */
  allowTriggers(deployment: string): void {
    const rules = ["", "*/"].map((bus) => ({
      service: "events",
      resource: "rule",
      resourceName: `${bus}${ruleNameOf(deployment, "*")}`,
    }));
    this.firings.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal("events.amazonaws.com")],
        actions: ["sqs:SendMessage"],
        resources: [this.firings.queueArn],
        conditions: { ArnLike: { "aws:SourceArn": rules.map((rule) => Stack.of(this).formatArn(rule)) } },
      }),
    );
  }

  /** Grants actions on all schedules of the group. A narrower grant is not possible: their names are ids of tasks. */
  private allow(grantee: IGrantable, actions: readonly string[]): void {
    const schedules = { service: "scheduler", resource: "schedule", resourceName: `${this.group.scheduleGroupName}/*` };
    const principal = grantee.grantPrincipal;
    principal.addToPrincipalPolicy(
      new PolicyStatement({
        actions: actions.map((action) => `scheduler:${action}`),
        resources: [Stack.of(this).formatArn(schedules)],
      }),
    );
    principal.addToPrincipalPolicy(
      new PolicyStatement({
        actions: ["iam:PassRole"],
        resources: [this.role.roleArn],
        conditions: { StringEquals: { "iam:PassedToService": "scheduler.amazonaws.com" } },
      }),
    );
    const anywhere = { partition: "<AWS::Partition>", region: "<AWS::Region>", account: "<AWS::AccountId>" };
    if (!Construct.isConstruct(principal)) return;
    Validations.of(principal).acknowledge({
      id: `AwsSolutions-IAM5[Resource::${Arn.format({ ...anywhere, ...schedules })}]`,
      reason: "All schedules of this deployment's own group. Their names are ids of tasks and tenants' schedules.",
    });
  }
}
