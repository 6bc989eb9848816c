import { createServer } from "node:http";
import { metricNamespace } from "../../core/model/metrics.ts";
import type { Clock } from "../../core/ports/tasks.ts";
import type { Measured } from "../direct/doors.ts";
import { onlyOnce, open } from "../net/endpoint.ts";
import { readBody } from "../net/request.ts";
import type { QueueStore } from "../sqs/queue-store.ts";
import { systemClock } from "../time/clock.ts";
import { LogFile } from "./log-file.ts";
import { MetricStore } from "./metric-store.ts";

interface MetricQuery {
  Id: string;
  MetricStat?: {
    Metric?: { Namespace?: string; MetricName?: string; Dimensions?: { Name: string; Value: string }[] };
    Period?: number;
    Stat?: string;
  };
}

interface MetricRequest {
  MetricDataQueries?: MetricQuery[];
  /** Epoch seconds. */
  StartTime?: number;
  EndTime?: number;
}

export interface CloudWatch {
  url: string;
  /** Keeps Offload's own measurements, without HTTP. */
  measured(measured: readonly Measured[]): void;
  close(): Promise<void>;
}

/**
 * Starts an emulator of the part of CloudWatch that functions use: the age of the oldest message of a queue, Offload's
 * own metrics by tier, which the functions send to `/_local/metrics`, and the lines of tasks, which they append to a
 * file. Unlike in AWS, they are not late, and there are no alarms.
 */
export async function startCloudWatch(
  store: QueueStore,
  { clock = systemClock, logFile }: { clock?: Clock; logFile?: string | undefined } = {},
): Promise<CloudWatch> {
  const metrics = new MetricStore(clock);
  const logs = logFile === undefined ? undefined : new LogFile(logFile);
  const answerOf = (target: string, text: string): object | Promise<object> | undefined => {
    if (target.endsWith(".FilterLogEvents")) return logs?.filter(JSON.parse(text)) ?? { events: [] };
    if (target.endsWith(".DescribeAlarms")) return { MetricAlarms: [], CompositeAlarms: [] };
    if (!target.endsWith(".GetMetricData")) return undefined;
    const { MetricDataQueries = [], ...span } = JSON.parse(text) as MetricRequest;
    return { MetricDataResults: MetricDataQueries.map((query) => resultOf({ store, metrics, clock }, query, span)) };
  };
  const server = createServer(async (request, response) => {
    const body = await readBody(request);
    if (body === undefined) return;
    response.setHeader("content-type", "application/x-amz-json-1.0");
    try {
      if (request.url === "/_local/metrics") {
        metrics.add(JSON.parse(body.toString("utf8")) as Measured[]);
        response.end("{}");
        return;
      }
      const answer = await answerOf(String(request.headers["x-amz-target"]), body.toString("utf8"));
      response.statusCode = answer === undefined ? 400 : 200;
      response.end(JSON.stringify(answer ?? unknownOperation));
    } catch (error) {
      response.statusCode = 500;
      response.end(JSON.stringify({ __type: "InternalServiceFault", message: String(error) }));
    }
  });
  const endpoint = await open(server, 0);
  return {
    url: endpoint.url,
    measured: (measured) => metrics.add(measured),
    close: onlyOnce(() => {
      logs?.close();
      return endpoint.close();
    }),
  };
}

const unknownOperation = {
  __type: "UnknownOperationException",
  message: "Only GetMetricData, DescribeAlarms and FilterLogEvents are supported here.",
};

interface Sources {
  store: QueueStore;
  metrics: MetricStore;
  clock: Clock;
}

function resultOf({ store, metrics, clock }: Sources, { Id, MetricStat = {} }: MetricQuery, span: MetricRequest) {
  const { Namespace, MetricName = "", Dimensions = [] } = MetricStat.Metric ?? {};
  const dimension = (name: string) => Dimensions.find(({ Name }) => Name === name)?.Value ?? "";
  const points =
    Namespace === metricNamespace
      ? metrics.values({
          ...{ name: MetricName, tier: dimension("tier"), stat: MetricStat.Stat ?? "Sum" },
          ...{ from: span.StartTime ?? 0, to: span.EndTime ?? 0, period: MetricStat.Period ?? 60 },
        })
      : ageOf(store, clock.now(), MetricName, dimension("QueueName"));
  return {
    ...{ Id, Label: MetricName, StatusCode: "Complete" },
    Timestamps: points.map(([at]) => at),
    Values: points.map(([, value]) => value),
  };
}

/** The age of a queue's oldest message, in seconds. */
function ageOf(store: QueueStore, now: number, name: string, queue: string): [number, number][] {
  const known = name === "ApproximateAgeOfOldestMessage" && queue !== "";
  const oldest = known ? store.counts(queue).oldestSentAt : undefined;
  return oldest === undefined ? [] : [[now / 1000, Math.max(0, Math.floor((now - oldest) / 1000))]];
}
