import { Arn, ArnFormat, type RemovalPolicy, Stack, Validations } from "aws-cdk-lib";
import { type IGrantable, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { ScheduleGroup } from "aws-cdk-lib/aws-scheduler";
import { Construct, type IConstruct } from "constructs";
import type { SettingTexts } from "../src/config.ts";
import { DeadLetterQueue, FiringQueue } from "./queue.ts";

export interface SchedulingProps {
  /** Name of the fire function, the target of every schedule. */
  readonly fireName: string;
  readonly removalPolicy: RemovalPolicy;
}

/**
 * The group of all schedules, and what a schedule needs to reach fire. A schedule lives longer than a deployment of code,
 * and it names its target, its role and its DLQ: all of that is kept with it, and the target has a fixed name.
 */
export class Scheduling extends Construct {
  /** Deleting the group deletes its schedules. */
  readonly group: ScheduleGroup;
  /** Firings that were not delivered, or that fire could not handle; fire takes them again from here. */
  readonly firings: FiringQueue;
  /** Firings that were given up. */
  readonly dlq: DeadLetterQueue;
  /** With which EventBridge Scheduler invokes fire. */
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
    this.role.addToPolicy(new PolicyStatement({ actions: ["sqs:SendMessage"], resources: [this.firings.queueArn] }));
  }

  /** What a function must know to create schedules. */
  get settings(): SettingTexts {
    return {
      scheduleGroup: this.group.scheduleGroupName,
      fireArn: this.fireArn,
      schedulerRoleArn: this.role.roleArn,
      schedulerDlqArn: this.firings.queueArn,
    };
  }

  /** Allows to create schedules in the group, and to give them the role, and no other. */
  allowCreate(who: IConstruct & IGrantable): void {
    this.allow(who, ["CreateSchedule"]);
  }

  /** Allows to create, change and delete schedules of the group. */
  allowManage(who: IConstruct & IGrantable): void {
    this.allow(who, ["CreateSchedule", "UpdateSchedule", "DeleteSchedule"]);
  }

  /** A schedule is named after its task: the names of all schedules of the group are the least that can be allowed. */
  private allow(who: IConstruct & IGrantable, actions: readonly string[]): void {
    const schedules = { service: "scheduler", resource: "schedule", resourceName: `${this.group.scheduleGroupName}/*` };
    const principal = who.grantPrincipal;
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
    Validations.of(who).acknowledge({
      id: `AwsSolutions-IAM5[Resource::${Arn.format({ ...anywhere, ...schedules })}]`,
      reason: "The schedules of this deployment's own group, which have the names of tasks.",
    });
  }
}
