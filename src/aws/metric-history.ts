import {
  type CloudWatchClient,
  type CompositeAlarm,
  DescribeAlarmsCommand,
  GetMetricDataCommand,
  type MetricAlarm,
} from "#aws-sdk/client-cloudwatch";
import {
  type AlarmView,
  historyMetrics,
  type MetricHistory,
  type MetricSeries,
  type MetricSpan,
} from "../core/control/metric-history.ts";
import { metricNamespace } from "../core/model/metrics.ts";
import { tiers } from "../core/model/words.ts";
import { viaPort } from "./errors.ts";

const port = "CloudWatch";

/** Most pages of alarms. Each has up to 100, those of deployments with a longer name among them. */
const maxPages = 5;

/** Each series that a history has. Its index is the id of its query. */
const wanted = tiers.flatMap((tier) => historyMetrics.map((metric) => ({ tier, ...metric })));

/** The deployment's metrics and alarms in CloudWatch. A history reads 28 metrics, which cost $0.00028. */
export class CloudWatchHistory implements MetricHistory {
  readonly #client: CloudWatchClient;
  readonly #deployment: string;

  /**
   * @param deployment Name of the deployment: the dimension `service` of its metrics, and the start of its alarms'
   * names and descriptions.
   */
  constructor(client: CloudWatchClient, deployment: string) {
    this.#client = client;
    this.#deployment = deployment;
  }

  async series({ from, to, periodSeconds }: MetricSpan): Promise<MetricSeries[]> {
    const command = new GetMetricDataCommand({
      StartTime: new Date(from * 1000),
      EndTime: new Date(to * 1000),
      ScanBy: "TimestampAscending",
      MetricDataQueries: wanted.map(({ name, tier, statistic }, index) => ({
        Id: `m${index}`,
        MetricStat: {
          Metric: {
            Namespace: metricNamespace,
            MetricName: name,
            Dimensions: [
              { Name: "service", Value: this.#deployment },
              { Name: "tier", Value: tier },
            ],
          },
          Period: periodSeconds,
          Stat: statistic === "sum" ? "Sum" : statistic,
        },
      })),
    });
    const { MetricDataResults = [] } = await viaPort(port, this.#client.send(command));
    const found = new Map<string | undefined, MetricSeries["points"]>();
    for (const { Id, Timestamps = [], Values = [] } of MetricDataResults) {
      found.set(
        Id,
        Timestamps.map((at, index) => [secondsOf(at), Values[index] ?? 0] as const),
      );
    }
    return wanted.map((of, index) => ({ ...of, points: found.get(`m${index}`) ?? [] }));
  }

  async alarms(): Promise<AlarmView[]> {
    const all: AlarmView[] = [];
    let from: string | undefined;
    for (let pages = 0; pages < maxPages; pages++) {
      const command = new DescribeAlarmsCommand({
        AlarmNamePrefix: `${this.#deployment}-`,
        AlarmTypes: ["MetricAlarm", "CompositeAlarm"],
        MaxRecords: 100,
        NextToken: from,
      });
      const { MetricAlarms = [], CompositeAlarms = [], NextToken } = await viaPort(port, this.#client.send(command));
      // The names of a deployment `shop-eu` begin as those of `shop` do. Each description begins with its deployment.
      const own = [...CompositeAlarms, ...MetricAlarms].filter(({ AlarmDescription }) =>
        AlarmDescription?.startsWith(`${this.#deployment}: `),
      );
      all.push(...own.map(alarmView));
      if (NextToken === undefined) break;
      from = NextToken;
    }
    return all.sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}

function alarmView(alarm: MetricAlarm | CompositeAlarm): AlarmView {
  const { AlarmName = "", StateValue = "", AlarmDescription = null } = alarm;
  // An update may leave the state as it was.
  const since = alarm.StateTransitionedTimestamp ?? alarm.StateUpdatedTimestamp;
  return {
    name: AlarmName,
    state: stateOf(StateValue),
    description: AlarmDescription,
    since: since === undefined ? null : new Date(secondsOf(since) * 1000).toISOString(),
  };
}

/** The SDK's client has dates, the small one numbers. */
const secondsOf = (at: Date | number): number => (typeof at === "number" ? at : at.getTime() / 1000);

const stateOf = (state: string): AlarmView["state"] =>
  state === "OK" ? "ok" : state === "ALARM" ? "alarm" : "insufficient_data";
