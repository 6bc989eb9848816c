import { Duration } from "aws-cdk-lib";
import { MathExpression, Metric, Stats } from "aws-cdk-lib/aws-cloudwatch";
import { type MetricName, metricNamespace, metricTable } from "../../src/core/metrics.ts";
import type { Tier } from "../../src/core/tier.ts";

/** Measurements that are also kept for each task type. */
export type TypedMetricName = {
  [Name in MetricName]: (typeof metricTable)[Name]["byType"] extends true ? Name : never;
}[MetricName];

/** What alarms and graphs look at where nothing else is said. */
export const usualPeriod = Duration.minutes(5);

/** How a measurement is put together; counts are summed up where nothing is said, times are the p99. */
export interface MetricView {
  readonly statistic?: string;
  /** @default Duration.minutes(5) */
  readonly period?: Duration;
  readonly label?: string;
}

/** What the functions of one deployment measure, as alarms and graphs read it. `src/core/metrics.ts` says what is what. */
export class PipelineMetrics {
  /** The dimension that tells deployments apart. */
  readonly service: string;

  constructor(service: string) {
    this.service = service;
  }

  /** A tier's measurement. */
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

  /** A measurement for each task type that has any, in graphs: alarms cannot search. */
  byType(name: TypedMetricName): MathExpression {
    const what = `{${metricNamespace},service,tier,type} MetricName="${name}" service="${this.service}"`;
    const expression = `SEARCH('${what}', '${usualStatistic(name)}', ${usualPeriod.toSeconds()})`;
    // biome-ignore lint/suspicious/noTemplateCurlyInString: CloudWatch fills it in, for each line of the graph.
    return new MathExpression({ expression, usingMetrics: {}, period: usualPeriod, label: "${PROP('Dim.type')}" });
  }
}

const usualStatistic = (name: MetricName): string =>
  metricTable[name].unit === "Count" ? Stats.SUM : Stats.percentile(99);
