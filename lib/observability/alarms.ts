import { Duration, Stack, Validations } from "aws-cdk-lib";
import {
  Alarm,
  AlarmRule,
  AlarmState,
  ComparisonOperator,
  CompositeAlarm,
  type IAlarm,
  type IMetric,
  Stats,
  TreatMissingData,
} from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { type ITopic, Topic } from "aws-cdk-lib/aws-sns";
import { EmailSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { keyOf } from "../encryption.ts";

/** Anchors of the runbook's sections about alarms. An alarm's name ends with its section. */
export const runbookSections = [
  "pipeline-unhealthy",
  "dead-letters",
  "new-failure",
  "depth",
  "oldest-message",
  "slow-processing",
  "errors",
  "retries",
  "throttled-functions",
  "failing-functions",
  "api-errors",
  "redrive-late",
  "redrive-gave-up",
  "firings-late",
  "firings-gave-up",
  "firings-lost",
  "scheduler-throttled",
  "schedule-refused",
  "schedule-missed",
  "breaker-open",
  "line-waits",
  "pause-forgotten",
  "notices-late",
  "notices-gave-up",
  "webhooks-failed",
  "receivers-failing",
  "containers-stopped",
  "containers-behind",
  "table-throttled",
  "table-errors",
] as const;

export type RunbookSection = (typeof runbookSections)[number];

export interface AlarmsProps {
  /** Name of the deployment, the prefix of alarm names. */
  readonly deployment: string;
  /** URL of the runbook. */
  readonly runbookUrl: string;
  readonly dashboardName: string;
  /**
   * E-mail address that gets a message when an alarm starts or ends. The recipient must confirm the subscription once.
   * @default - none: subscribe to the topic yourself
   */
  readonly email?: string;
  /**
   * ARN of an SNS topic for the alarms. Its policy, and that of its KMS key if it has one, must let CloudWatch publish.
   * @default - the alarms have their own topic
   */
  readonly topicArn?: string;
}

/** Text of an alarm for the engineer on call. */
interface AlarmText {
  /** Section of the runbook, and last part of the alarm's name. */
  readonly section: RunbookSection;
  /** Meaning of the alarm. */
  readonly means: string;
  /** First step of the engineer on call. */
  readonly first: string;
}

/** An alarm that is on while a metric is above a threshold. Missing data counts as good. */
export interface Watch extends AlarmText {
  /**
   * Tier or function of the metric.
   * @default - the whole deployment
   */
  readonly of?: string;
  readonly metric: IMetric;
  readonly threshold: number;
  /**
   * Number of periods in a row above the threshold.
   * @default 1
   */
  readonly periods?: number;
  /**
   * True when users notice the problem. The alarm is then a part of "pipeline-unhealthy".
   * @default false
   */
  readonly affectsUsers?: boolean;
}

/** The pipeline's alarms and their SNS topic. */
export class Alarms extends Construct {
  readonly topic: ITopic;
  /** All alarms, in the order of their creation. */
  readonly all: IAlarm[] = [];
  private readonly affectingUsers: IAlarm[] = [];
  private readonly props: AlarmsProps;

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    this.props = props;
    this.topic = props.topicArn === undefined ? this.createTopic() : Topic.fromTopicArn(this, "Topic", props.topicArn);
    if (props.email !== undefined) subscribe(this.topic, props.email);
  }

  /** Adds an alarm that is on while a queue holds any message. */
  whenNotEmpty(queue: IQueue, watch: Omit<Watch, "metric" | "threshold">): Alarm {
    const metric = queue.metricApproximateNumberOfMessagesVisible({
      period: Duration.minutes(1),
      statistic: Stats.MAXIMUM,
    });
    return this.whenAbove({ ...watch, metric, threshold: 0 });
  }

  /** Adds an alarm that is on while a metric is above a threshold. */
  whenAbove(watch: Watch): Alarm {
    const id = watch.of === undefined ? watch.section : `${watch.of}-${watch.section}`;
    const alarm = new Alarm(this, id, {
      alarmName: `${this.props.deployment}-${id}`,
      alarmDescription: this.describe(watch),
      metric: watch.metric,
      threshold: watch.threshold,
      evaluationPeriods: watch.periods ?? 1,
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      treatMissingData: TreatMissingData.NOT_BREACHING,
    });
    this.addActions(alarm);
    if (watch.affectsUsers === true) this.affectingUsers.push(alarm);
    return alarm;
  }

  /** Adds an alarm that is on while any alarm with `affectsUsers` is on. This is the alarm to be woken by. */
  whenUsersAffected(text: AlarmText): CompositeAlarm {
    const alarm = new CompositeAlarm(this, text.section, {
      compositeAlarmName: `${this.props.deployment}-${text.section}`,
      alarmDescription: this.describe(text),
      alarmRule: AlarmRule.anyOf(...this.affectingUsers.map((one) => AlarmRule.fromAlarm(one, AlarmState.ALARM))),
    });
    this.addActions(alarm);
    return alarm;
  }

  private createTopic(): Topic {
    const key = keyOf(this);
    const topic = new Topic(this, "Topic", { enforceSSL: true, ...(key !== undefined && { masterKey: key }) });
    topic.addToResourcePolicy(letAlarmsPublish(topic));
    return topic;
  }

  private describe({ means, first, section }: AlarmText): string {
    const { deployment, runbookUrl, dashboardName } = this.props;
    const lines = [
      `${deployment}: ${means}`,
      `First: ${first}`,
      `Dashboard: ${dashboardName}`,
      `Runbook: ${runbookUrl}#${section}`,
    ];
    return lines.join("\n");
  }

  private addActions(alarm: Alarm | CompositeAlarm): void {
    const action = new SnsAction(this.topic);
    alarm.addAlarmAction(action);
    alarm.addOkAction(action);
    this.all.push(alarm);
  }
}

function subscribe(topic: ITopic, email: string): void {
  Validations.of(topic.addSubscription(new EmailSubscription(email))).acknowledge({
    id: "Serverless-SNSRedrivePolicy",
    reason: "An alarm whose e-mail failed is still visible in CloudWatch; a late e-mail would not help.",
  });
}

/**
 * A topic with its own policy loses the default policy, which lets this account's alarms publish. So this statement
 * restores the permission. The topic has only a KMS key of the app, because alarms cannot use the AWS managed key
 * `alias/aws/sns` and fail silently.
 */
function letAlarmsPublish(topic: Topic): PolicyStatement {
  const stack = Stack.of(topic);
  return new PolicyStatement({
    sid: "AlarmsOfThisAccount",
    principals: [new ServicePrincipal("cloudwatch.amazonaws.com")],
    actions: ["sns:Publish"],
    resources: [topic.topicArn],
    conditions: { StringEquals: { "aws:SourceAccount": stack.account } },
  });
}
