import { Duration } from "aws-cdk-lib";
import { MathExpression, Metric, Stats } from "aws-cdk-lib/aws-cloudwatch";
import { type MetricName, metricNamespace, metricTable } from "../../src/core/model/metrics.ts";
import type { Tier } from "../../src/core/model/words.ts";

/** Metrics with an additional dimension for the task type. */
export type TypedMetricName = {
  [Name in MetricName]: (typeof metricTable)[Name]["byType"] extends true ? Name : never;
}[MetricName];

/** Default period of alarms and graphs. */
export const usualPeriod = Duration.minutes(5);

/** Statistic, period and label of a metric. The default statistic of counts is the sum, of times the p99. */
export interface MetricView {
  readonly statistic?: string;
  /** @default Duration.minutes(5) */
  readonly period?: Duration;
  readonly label?: string;
}

/** Custom metrics of one deployment, for alarms and graphs. `src/core/model/metrics.ts` describes each metric. */
export class PipelineMetrics {
  /** Value of the dimension `service`: the deployment's name. */
  readonly service: string;

  constructor(service: string) {
    this.service = service;
  }

  /** A metric of one tier. */
  of(name: MetricName, tier: Tier, view: MetricView = {}): Metric {
    return new Metric({
      namespace: metricNamespace,
      metricName: name,
      dimensionsMap: { service: this.service, tier },
      statistic: view.statistic ?? usualStatistic(name),
      period: view.period ?? usualPeriod,
      ...(view.label !== undefined && { label: view.label }),
    });
  }

  /** A metric of one schedule in the code. */
  ofSchedule(name: TypedMetricName, schedule: string): Metric {
    return new Metric({
      namespace: metricNamespace,
      metricName: name,
      dimensionsMap: { service: this.service, tier: "normal", type: schedule },
      statistic: usualStatistic(name),
      period: usualPeriod,
    });
  }

  /** A metric with a line for each task type. For graphs only, because alarms do not support SEARCH. */
  byType(name: TypedMetricName): MathExpression {
    const what = `{${metricNamespace},service,tier,type} MetricName="${name}" service="${this.service}"`;
    const expression = `SEARCH('${what}', '${usualStatistic(name)}', ${usualPeriod.toSeconds()})`;
    // biome-ignore lint/suspicious/noTemplateCurlyInString: CloudWatch replaces it for each line of the graph.
    return new MathExpression({ expression, usingMetrics: {}, period: usualPeriod, label: "${PROP('Dim.type')}" });
  }
}

const usualStatistic = (name: MetricName): string =>
  metricTable[name].unit === "Count" ? Stats.SUM : Stats.percentile(99);
