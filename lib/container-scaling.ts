import { Duration } from "aws-cdk-lib";
import { CfnScalableTarget, CfnScalingPolicy } from "aws-cdk-lib/aws-applicationautoscaling";
import {
  Alarm,
  ComparisonOperator,
  type IMetric,
  MathExpression,
  Stats,
  TreatMissingData,
} from "aws-cdk-lib/aws-cloudwatch";
import { Construct } from "constructs";
import { tiers } from "../src/core/model/words.ts";
import type { ContainerQueues } from "./container-queues.ts";
import type { Containers } from "./containers.ts";

/** Application Auto Scaling accepts this number of steps in a policy. */
const mostSteps = 20;

/**
 * Minutes in a row in which a message waits before containers are added, and in which none waits before they are
 * removed.
 */
const outMinutes = 2;
const inMinutes = 10;

/** Time in which the containers of a scale-out start, in seconds: they count, although messages still wait. */
const startSeconds = 180;

const aMinute = Duration.minutes(1);

export interface ContainerScalingProps extends Pick<Containers, "minTasks" | "maxTasks" | "concurrency"> {
  readonly queues: ContainerQueues;
  readonly clusterName: string;
  readonly serviceName: string;
  /** Number of containers that run. Has data only while one runs. */
  readonly containers: IMetric;
}

/**
 * Makes a service follow the backlog. Messages that wait add containers: as many as they need places. When none has
 * waited for ten minutes, those stay that attempts need, down to `minTasks`. A container with an attempt protects
 * itself from being stopped.
 */
export class ContainerScaling extends Construct {
  private readonly target: CfnScalableTarget;

  constructor(scope: Construct, id: string, props: ContainerScalingProps) {
    super(scope, id);
    const { minTasks, maxTasks, clusterName, serviceName } = props;
    // Without a role: Application Auto Scaling has one of its own for ECS.
    this.target = new CfnScalableTarget(this, "Target", {
      serviceNamespace: "ecs",
      scalableDimension: "ecs:service:DesiredCount",
      resourceId: `service/${clusterName}/${serviceName}`,
      minCapacity: minTasks,
      maxCapacity: maxTasks,
    });
    this.addScaleOut(props);
    this.addScaleIn(props);
  }

  private addScaleOut({ queues, concurrency, maxTasks }: ContainerScalingProps): void {
    const policy = this.addPolicy("Out", "ChangeInCapacity", startSeconds, outSteps(maxTasks, concurrency));
    this.addAlarm("OutAlarm", policy, {
      means: "Messages wait for container workers: adds containers.",
      metric: sum(waitingIn(queues), "messages that wait"),
      threshold: 1,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      minutes: outMinutes,
    });
  }

  private addScaleIn({ queues, concurrency, maxTasks, containers }: ContainerScalingProps): void {
    const none = noneToRemove(maxTasks);
    const policy = this.addPolicy("In", "ExactCapacity", 60, inSteps(maxTasks));
    this.addAlarm("InAlarm", policy, {
      means: "No message waits for container workers: removes the containers that no attempt needs.",
      metric: neededContainers(queues, concurrency, none, containers),
      threshold: none,
      comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
      minutes: inMinutes,
    });
  }

  private addPolicy(
    id: string,
    adjustmentType: "ChangeInCapacity" | "ExactCapacity",
    cooldown: number,
    stepAdjustments: CfnScalingPolicy.StepAdjustmentProperty[],
  ): CfnScalingPolicy {
    return new CfnScalingPolicy(this, id, {
      policyName: id,
      policyType: "StepScaling",
      scalingTargetId: this.target.ref,
      stepScalingPolicyConfiguration: { adjustmentType, cooldown, metricAggregationType: "Maximum", stepAdjustments },
    });
  }

  private addAlarm(id: string, policy: CfnScalingPolicy, { means, metric, minutes, ...rule }: ScalingAlarm): void {
    const alarm = new Alarm(this, id, {
      alarmDescription: `${means} It is no problem, and tells nobody.`,
      metric,
      evaluationPeriods: minutes,
      // An idle queue has no metrics. A container that starts must not be removed before it is seen.
      treatMissingData: TreatMissingData.NOT_BREACHING,
      ...rule,
    });
    alarm.addAlarmAction({ bind: () => ({ alarmActionArn: policy.ref }) });
  }
}

interface ScalingAlarm {
  readonly means: string;
  readonly metric: IMetric;
  readonly threshold: number;
  readonly comparisonOperator: ComparisonOperator;
  readonly minutes: number;
}

type Metrics = Record<string, IMetric>;

const most = { period: aMinute, statistic: Stats.MAXIMUM };

/** Messages that wait, of each tier. */
export const waitingIn = ({ ofTiers }: ContainerQueues, view: { readonly period: Duration } = most): Metrics =>
  Object.fromEntries(
    tiers.map((tier) => [
      `${tier}Waiting`,
      ofTiers[tier].metricApproximateNumberOfMessagesVisible({ ...most, ...view }),
    ]),
  );

/** Messages of running attempts, of each tier. */
export const inFlightIn = ({ ofTiers }: ContainerQueues, view: { readonly period: Duration } = most): Metrics =>
  Object.fromEntries(
    tiers.map((tier) => [
      `${tier}Running`,
      ofTiers[tier].metricApproximateNumberOfMessagesNotVisible({ ...most, ...view }),
    ]),
  );

/** `SUM` ignores metrics without data, where `+` would have no result. */
export const sumOf = (metrics: Metrics): string => `SUM([${Object.keys(metrics).join(", ")}])`;

const sum = (usingMetrics: Metrics, label: string): MathExpression =>
  new MathExpression({ expression: sumOf(usingMetrics), usingMetrics, period: aMinute, label });

/**
 * Number of containers that attempts need while no message waits, and `none` while one does. Without data while no
 * container runs, so that the alarm ends and does not stop the first container.
 */
function neededContainers(
  queues: ContainerQueues,
  concurrency: number,
  none: number,
  containers: IMetric,
): MathExpression {
  const [waiting, inFlight] = [waitingIn(queues), inFlightIn(queues)];
  return new MathExpression({
    expression: `IF(containers > 0, IF(${sumOf(waiting)} > 0, ${none}, CEIL(${sumOf(inFlight)} / ${concurrency})), ${none})`,
    usingMetrics: { ...waiting, ...inFlight, containers },
    period: aMinute,
    label: "containers that attempts need",
  });
}

/** Value of the scale-in metric while no container may be removed: more than any number of containers. */
const noneToRemove = (maxTasks: number): number => maxTasks + 1;

/** At most 20 numbers of containers up to the maximum: all of them, or growing distances. */
export function countsUpTo(maxTasks: number): number[] {
  if (maxTasks <= mostSteps) return Array.from({ length: maxTasks }, (_, index) => index + 1);
  const factor = maxTasks ** (1 / (mostSteps - 1));
  const counts = new Set<number>();
  for (let step = 0; step < mostSteps; step++) counts.add(Math.round(factor ** step));
  return [...counts.add(maxTasks)].sort((a, b) => a - b);
}

/** Steps by the number of messages that wait, above the threshold of 1. */
export function outSteps(maxTasks: number, concurrency: number): CfnScalingPolicy.StepAdjustmentProperty[] {
  const counts = countsUpTo(maxTasks);
  return counts.map((count, index) => ({
    scalingAdjustment: count,
    metricIntervalLowerBound: index === 0 ? 0 : (counts[index - 1] ?? 0) * concurrency,
    ...(index < counts.length - 1 && { metricIntervalUpperBound: count * concurrency }),
  }));
}

/**
 * Steps by the number of containers that attempts need, below the threshold. The number is rounded up to the next step.
 */
export function inSteps(maxTasks: number): CfnScalingPolicy.StepAdjustmentProperty[] {
  const counts = [0, ...countsUpTo(maxTasks)];
  const steps = counts.length > mostSteps ? counts.filter((count) => count !== counts[counts.length - 2]) : counts;
  const bound = (count: number) => count + 0.5 - noneToRemove(maxTasks);
  return steps.map((count, index) => ({
    scalingAdjustment: count,
    ...(index > 0 && { metricIntervalLowerBound: bound(steps[index - 1] ?? 0) }),
    metricIntervalUpperBound: index < steps.length - 1 ? bound(count) : 0,
  }));
}
