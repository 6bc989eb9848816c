import { Duration } from "aws-cdk-lib";
import { type IMetric, MathExpression, Metric, Stats } from "aws-cdk-lib/aws-cloudwatch";
import type { ILogGroup } from "aws-cdk-lib/aws-logs";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import { indexes } from "../../src/settings/config.ts";
import { figuresAsOf, type PriceName, priceRegion, prices } from "../../src/tools/plan/figures.ts";
import type { ContainerWorkers } from "../container-workers.ts";
import type { DataStack } from "../data-stack.ts";
import { title } from "../per-tier.ts";
import type { Watched } from "./watched.ts";

/** Description of the estimate on the dashboard. */
export const costNote = `list prices of ${priceRegion} as of ${figuresAsOf}, without free tier, storage, alarms, metrics and traces`;

/** Period of each point of the graph. */
const period = Duration.hours(1);

const summed = { statistic: Stats.SUM };

type Named = [id: string, metric: IMetric];
type Metrics = Record<string, IMetric>;

/**
 * Cost of a deployment in US dollars per hour: CloudWatch's usage metrics times list prices. There is no metric of SQS
 * requests: a send counts as one, and a batch as three, to receive, hide and delete its messages.
 */
export function costParts(watched: Watched): MathExpression[] {
  const { api, data } = watched;
  return [
    part("API Gateway", priced("api", { apiRequests: api.metricCount({ statistic: Stats.SUM }) }, "httpApiRequests")),
    part("Lambda", lambda(watched)),
    part("DynamoDB", table(watched)),
    part("SQS", queues(watched)),
    part("Scheduler", priced("scheduler", { firings: data.scheduling.group.metricAttempts() }, "schedules")),
    part("logs", logs(watched)),
    ...(watched.containers === undefined ? [] : [part("Fargate", containers(watched.containers))]),
  ];
}

/** Sum of the parts. */
export const costTotal = (parts: readonly MathExpression[]): MathExpression =>
  part("total", Object.fromEntries(parts.map((one, index) => [`part${index}`, one])));

/** `SUM` ignores metrics without data, where `+` would have no result. */
const part = (label: string, addends: Metrics): MathExpression =>
  new MathExpression({ expression: sumOf(Object.keys(addends)), usingMetrics: addends, period, label });

const sumOf = (ids: readonly string[]): string => `SUM([${ids.join(", ")}])`;

/** A sum of metrics times a price. `times` converts the metrics to the price's unit. */
function priced(id: string, metrics: Metrics, price: PriceName, times = 1): Metrics {
  const factor = (times * prices[price].value) / (prices[price].unit.startsWith("per million") ? 1e6 : 1);
  const expression = `${sumOf(Object.keys(metrics))} * ${decimal(factor)}`;
  return { [`${id}Cost`]: new MathExpression({ expression, usingMetrics: metrics, period, label: id }) };
}

/** Metric math does not accept exponents. */
const decimal = (value: number): string => value.toFixed(16).replace(/0+$/, "");

function lambda({ functions }: Watched): Metrics {
  const all = Object.entries(functions);
  const calls = all.map(([name, { function: fn }]): Named => [idOf("calls", name), fn.metricInvocations()]);
  const memories = [...new Set(all.map(([, { memorySize }]) => memorySize))];
  const durations = memories.map((memorySize) => {
    const same = all.filter(([, fn]) => fn.memorySize === memorySize);
    const sums = same.map(([name, { function: fn }]): Named => [idOf("ms", name), fn.metricDuration(summed)]);
    return priced(`memory${memorySize}`, Object.fromEntries(sums), "lambdaGbSeconds", memorySize / 1024 / 1000);
  });
  return Object.assign(priced("calls", Object.fromEntries(calls), "lambdaRequests"), ...durations);
}

/** ECS has a sample of the CPU for each container and minute. Of Spot the highest price. */
function containers(workers: ContainerWorkers): Metrics {
  const { cpus, gigabytes } = workers.size;
  const minutes = (id: string) => ({ [id]: workers.metric("CPUUtilization", { statistic: Stats.SAMPLE_COUNT }) });
  return {
    ...priced("containerCpu", minutes("cpuMinutes"), "fargateCpuHours", cpus / 60),
    ...priced("containerMemory", minutes("memoryMinutes"), "fargateGbHours", gigabytes / 60),
  };
}

function table({ data }: Watched): Metrics {
  const { tableName: TableName } = data.table;
  const units = (id: string, metricName: string): Metrics => {
    const ofIndexes = Object.entries(indexes).map(([name, GlobalSecondaryIndexName]): Named => {
      return [idOf(id, name), consumed(metricName, { TableName, GlobalSecondaryIndexName })];
    });
    return { [id]: consumed(metricName, { TableName }), ...Object.fromEntries(ofIndexes) };
  };
  return {
    ...priced("writes", units("written", "ConsumedWriteCapacityUnits"), "tableWrites"),
    ...priced("reads", units("read", "ConsumedReadCapacityUnits"), "tableReads"),
  };
}

const consumed = (metricName: string, dimensionsMap: Record<string, string>): Metric =>
  new Metric({ namespace: "AWS/DynamoDB", metricName, dimensionsMap, ...summed });

/** Queues of container workers, by names of metric math. */
const ofContainers = ({ containerQueues }: DataStack): Record<string, IQueue> =>
  Object.fromEntries(
    Object.entries(containerQueues?.ofTiers ?? {}).map(([tier, queue]) => [`${tier}-container`, queue]),
  );

function queues({ data, functions, workers }: Watched): Metrics {
  const { queues: tierQueues, redriveQueue, notifyQueue, scheduling } = data;
  const polled = {
    ...tierQueues,
    ...ofContainers(data),
    redrive: redriveQueue,
    firings: scheduling.firings,
    notify: notifyQueue,
  };
  const single = Object.entries(polled).flatMap(([name, queue]): Named[] => [
    [idOf("sent", name), queue.metricNumberOfMessagesSent()],
    [idOf("empty", name), queue.metricNumberOfEmptyReceives()],
  ]);
  const { redrive, notify } = functions;
  const fed = Object.entries({ ...workers, redrive, notify });
  const batches = fed.flatMap(([name, fn]): Named[] =>
    fn === undefined ? [] : [[idOf("batches", name), fn.function.metricInvocations()]],
  );
  return {
    ...priced("single", Object.fromEntries(single), "queueRequests"),
    ...priced("batches", Object.fromEntries(batches), "queueRequests", 3),
  };
}

function logs({ functions, containers: workers, accessLog }: Watched): Metrics {
  const logging = { ...functions, ...(workers !== undefined && { containers: workers }) };
  const groups = Object.entries(logging).map(([name, { logGroup }]) => [name, logGroup] as const);
  const bytes = ([name, { logGroupName: LogGroupName }]: readonly [string, ILogGroup]): Named => {
    const dimensionsMap = { LogGroupName };
    return [
      idOf("bytes", name),
      new Metric({ namespace: "AWS/Logs", metricName: "IncomingBytes", dimensionsMap, ...summed }),
    ];
  };
  return {
    ...priced("logs", Object.fromEntries(groups.map(bytes)), "logs", 1e-9),
    ...priced("requestLogs", Object.fromEntries([bytes(["access", accessLog])]), "requestLogs", 1e-9),
  };
}

/** Creates an id for metric math: a lower case letter, then letters and digits. */
const idOf = (what: string, whose: string): string => `${what}${whose.split("-").map(title).join("")}`;
