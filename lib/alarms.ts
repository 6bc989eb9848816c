import { Duration, Stack, Validations } from "aws-cdk-lib";
import { Alarm, ComparisonOperator, type IMetric, Stats, TreatMissingData } from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { type ITopic, Topic } from "aws-cdk-lib/aws-sns";
import { EmailSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";

export interface AlarmsProps {
  /**
   * Who gets an e-mail when an alarm goes off or ends; the address must be confirmed once.
   * @default - nobody: subscribe to the topic yourself
   */
  readonly email?: string;
}

/** The pipeline's alarms, and the one topic that they speak to. */
export class Alarms extends Construct {
  readonly topic: ITopic;

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    const topic = new Topic(this, "Topic", { enforceSSL: true });
    topic.addToResourcePolicy(letAlarmsPublish(topic));
    if (props.email !== undefined) subscribe(topic, props.email);
    this.topic = topic;
  }

  /** Goes off while a queue holds any message. */
  whenNotEmpty(id: string, queue: IQueue, description: string): Alarm {
    const metric = queue.metricApproximateNumberOfMessagesVisible({
      period: Duration.minutes(1),
      statistic: Stats.MAXIMUM,
    });
    return this.whenAbove(id, { metric, threshold: 0, description });
  }

  /** Goes off while a metric is above a threshold; no data is good news. */
  whenAbove(id: string, alarm: { metric: IMetric; threshold: number; description: string; periods?: number }): Alarm {
    const { metric, threshold, description, periods = 1 } = alarm;
    const made = new Alarm(this, id, {
      metric,
      threshold,
      alarmDescription: description,
      evaluationPeriods: periods,
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      treatMissingData: TreatMissingData.NOT_BREACHING,
    });
    const action = new SnsAction(this.topic);
    made.addAlarmAction(action);
    made.addOkAction(action);
    return made;
  }
}

function subscribe(topic: Topic, email: string): void {
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
