import { createServer } from "node:http";
import type { Clock } from "../core/ports.ts";
import { systemClock } from "./clock.ts";
import { onlyOnce, open } from "./endpoint.ts";
import { readBody } from "./request.ts";
import type { QueueStore } from "./sqs/queue-store.ts";

interface MetricQuery {
  Id: string;
  MetricStat?: { Metric?: { MetricName?: string; Dimensions?: { Name: string; Value: string }[] } };
}

/**
 * Starts an emulator of the part of CloudWatch that functions use: the age of the oldest message of a queue. Unlike in AWS,
 * the age is exact to the second and not late.
 */
export async function startCloudWatch(
  store: QueueStore,
  clock: Clock = systemClock,
): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    const body = await readBody(request);
    if (body === undefined) return;
    response.setHeader("content-type", "application/x-amz-json-1.0");
    if (!String(request.headers["x-amz-target"]).endsWith(".GetMetricData")) {
      response.statusCode = 400;
      response.end(
        JSON.stringify({ __type: "UnknownOperationException", message: "Only GetMetricData is supported here." }),
      );
      return;
    }
    const { MetricDataQueries = [] } = JSON.parse(body.toString("utf8")) as { MetricDataQueries?: MetricQuery[] };
    try {
      const MetricDataResults = MetricDataQueries.map((query) => resultOf(store, clock.now(), query));
      response.end(JSON.stringify({ MetricDataResults }));
    } catch (error) {
      response.statusCode = 500;
      response.end(JSON.stringify({ __type: "InternalServiceFault", message: String(error) }));
    }
  });
  const endpoint = await open(server, 0);
  return { url: endpoint.url, close: onlyOnce(() => endpoint.close()) };
}

function resultOf(store: QueueStore, now: number, { Id, MetricStat }: MetricQuery) {
  const { MetricName, Dimensions = [] } = MetricStat?.Metric ?? {};
  const queue = Dimensions.find(({ Name }) => Name === "QueueName")?.Value;
  const known = MetricName === "ApproximateAgeOfOldestMessage" && queue !== undefined;
  const oldest = known ? store.counts(queue).oldestSentAt : undefined;
  const values = oldest === undefined ? [] : [Math.max(0, Math.floor((now - oldest) / 1000))];
  return { Id, Label: MetricName, StatusCode: "Complete", Timestamps: values.map(() => now / 1000), Values: values };
}
