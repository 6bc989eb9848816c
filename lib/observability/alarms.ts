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

/** The runbook's sections about alarms, by the anchors of their headings. An alarm is named after its section. */
export const runbookSections = [
  "pipeline-unhealthy",
  "dead-letters",
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
  "table-throttled",
  "table-errors",
] as const;

export type RunbookSection = (typeof runbookSections)[number];

export interface AlarmsProps {
  /** The deployment's name, with which the names of alarms begin. */
  readonly deployment: string;
  /** Where the runbook is. */
  readonly runbookUrl: string;
  /**
   * Who gets an e-mail when an alarm goes off or ends; the address must be confirmed once.
   * @default - nobody: subscribe to the topic yourself
   */
  readonly email?: string;
  /**
   * An SNS topic that the alarms are to speak to. Its policy must let CloudWatch publish, and its key, if any, let CloudWatch use it.
   * @default - a topic of their own
   */
  readonly topicArn?: string;
}

/** What an alarm says to whom it wakes. */
interface Advice {
  /** Its section of the runbook, and the last part of its name. */
  readonly section: RunbookSection;
  /** What it means. */
  readonly means: string;
  /** What to do first. */
  readonly first: string;
}

/** One alarm: goes off while a metric is above a threshold; no data is good news. */
export interface Watch extends Advice {
  /**
   * Whose metric it is: a tier, a function.
   * @default - the whole deployment's
   */
  readonly of?: string;
  readonly metric: IMetric;
  readonly threshold: number;
  /**
   * For how many periods in a row.
   * @default 1
   */
  readonly periods?: number;
  /**
   * Whether users feel it: it is a part of "pipeline unhealthy" then.
   * @default false
   */
  readonly felt?: boolean;
}

/** The pipeline's alarms, and the one topic that they speak to. */
export class Alarms extends Construct {
  readonly topic: ITopic;
  /** Every alarm, in the order in which they were made. */
  readonly all: IAlarm[] = [];
  private readonly felt: IAlarm[] = [];
  private readonly props: AlarmsProps;

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    this.props = props;
    this.topic = props.topicArn === undefined ? this.ownTopic() : Topic.fromTopicArn(this, "Topic", props.topicArn);
    if (props.email !== undefined) subscribe(this.topic, props.email);
  }

  /** Goes off while a queue holds any message. */
  whenNotEmpty(queue: IQueue, watch: Omit<Watch, "metric" | "threshold">): Alarm {
    const metric = queue.metricApproximateNumberOfMessagesVisible({
      period: Duration.minutes(1),
      statistic: Stats.MAXIMUM,
    });
    return this.whenAbove({ ...watch, metric, threshold: 0 });
  }

  /** Goes off while a metric is above a threshold. */
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
    this.tell(alarm);
    if (watch.felt === true) this.felt.push(alarm);
    return alarm;
  }

  /** Goes off while any alarm is on that users feel: the one to be woken by. */
  whenFelt(advice: Advice): CompositeAlarm {
    const alarm = new CompositeAlarm(this, advice.section, {
      compositeAlarmName: `${this.props.deployment}-${advice.section}`,
      alarmDescription: this.describe(advice),
      alarmRule: AlarmRule.anyOf(...this.felt.map((one) => AlarmRule.fromAlarm(one, AlarmState.ALARM))),
    });
    this.tell(alarm);
    return alarm;
  }

  private ownTopic(): Topic {
    const topic = new Topic(this, "Topic", { enforceSSL: true });
    topic.addToResourcePolicy(letAlarmsPublish(topic));
    return topic;
  }

  private describe({ means, first, section }: Advice): string {
    const { deployment, runbookUrl } = this.props;
    const lines = [
      `${deployment}: ${means}`,
      `First: ${first}`,
      `Dashboard: ${deployment}`,
      `Runbook: ${runbookUrl}#${section}`,
    ];
    return lines.join("\n");
  }

  private tell(alarm: Alarm | CompositeAlarm): void {
    const action = new SnsAction(this.topic);
    alarm.addAlarmAction(action);
    alarm.addOkAction(action);
    this.all.push(alarm);
  }
}

function subscribe(topic: ITopic, email: string): void {
  Validations.of(topic.addSubscription(new EmailSubscription(email))).acknowledge({
    id: "Serverless-SNSRedrivePolicy",
    reason: "An alarm that could not be mailed is still on in CloudWatch; mailing it again later helps nobody.",
  });
}

/**
 * A topic with any policy of its own has lost the default one, which let this account's alarms publish. The topic has no
 * KMS key for a like reason: alarms cannot use the AWS managed key `alias/aws/sns`, and fail without a word.
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
