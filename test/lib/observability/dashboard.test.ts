import { describe, expect, test } from "vitest";
import { metricTable } from "../../../src/core/model/metrics.ts";
import { tiers } from "../../../src/core/model/words.ts";
import { indexes } from "../../../src/settings/config.ts";
import { figuresAsOf, prices } from "../../../src/tools/plan/figures.ts";
import { evaluate } from "../metric-math.ts";
import { allOf, inService, resources, stage, synthesize, widgetsOf } from "../synthesis.ts";

const dev = stage("dev");
const widgets = widgetsOf(dev);

/** AWS's own metrics that the dashboard and the alarms may name, and by which dimensions AWS keeps them. */
const awsMetrics: Record<string, { names: readonly string[]; dimensions: readonly string[] }> = {
  "AWS/SQS": {
    names: [
      "ApproximateNumberOfMessagesVisible",
      "ApproximateNumberOfMessagesNotVisible",
      "ApproximateNumberOfMessagesDelayed",
      "ApproximateAgeOfOldestMessage",
      "ApproximateAgeOfOldestMessageInQuietGroups",
      "NumberOfMessagesSent",
      "NumberOfEmptyReceives",
    ],
    dimensions: ["QueueName"],
  },
  "AWS/Lambda": {
    names: ["Invocations", "Errors", "Throttles", "Duration", "ConcurrentExecutions"],
    dimensions: ["FunctionName"],
  },
  "AWS/ApiGateway": { names: ["Count", "4xx", "5xx", "Latency"], dimensions: ["ApiId"] },
  "AWS/DynamoDB": {
    names: ["ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits", "ThrottledRequests", "SystemErrors"],
    dimensions: ["TableName", "GlobalSecondaryIndexName,TableName", "Operation,TableName"],
  },
  "AWS/Scheduler": {
    names: [
      "InvocationAttemptCount",
      "InvocationThrottleCount",
      "TargetErrorThrottledCount",
      "InvocationsFailedToBeSentToDeadLetterCount",
    ],
    dimensions: ["ScheduleGroup"],
  },
  "AWS/Logs": { names: ["IncomingBytes"], dimensions: ["LogGroupName"] },
};

const ownDimensions = (name: string): string[] =>
  name in metricTable && metricTable[name as keyof typeof metricTable].byType
    ? ["service,tier", "service,tier,type"]
    : ["service,tier"];

/** What is wrong with a metric, by what we and AWS know to exist. */
function faultOf(namespace: string, name: string, dimensions: readonly string[]): string | undefined {
  const own = namespace === "Offload";
  const names = own ? Object.keys(metricTable) : awsMetrics[namespace]?.names;
  if (names === undefined) return `there is no namespace ${namespace}`;
  if (!names.includes(name)) return `${namespace} has no ${name}`;
  const kept = own ? ownDimensions(name) : (awsMetrics[namespace]?.dimensions ?? []);
  const given = [...dimensions].sort().join(",");
  return kept.includes(given) ? undefined : `${namespace} ${name} is not kept by ${given}`;
}

interface Line {
  namespace: string;
  name: string;
  dimensions: Record<string, string>;
  options: { id?: string; visible?: boolean; expression?: string; label?: string; stat?: string };
}

/** A line of a graph: `[namespace, name, dimension, value, ..., options]`, or only options with an expression. */
function lineOf(parts: readonly unknown[]): Line {
  const last = parts.at(-1);
  const options = typeof last === "object" && last !== null ? (last as Line["options"]) : {};
  const [namespace = "", name = "", ...pairs] = parts.filter((part) => typeof part === "string");
  const dimensions: Record<string, string> = {};
  for (let at = 0; at < pairs.length; at += 2) dimensions[pairs[at] ?? ""] = pairs[at + 1] ?? "";
  return { namespace, name, dimensions, options };
}

const linesOf = (widget: (typeof widgets)[number]): Line[] => (widget.properties.metrics ?? []).map(lineOf);
const lines = widgets.flatMap(linesOf);
const titled = (title: string) => widgets.filter(({ properties }) => properties.title === title);

describe("the body", () => {
  test("is a fifth shorter than its widgets, of which CloudWatch reads the same", () => {
    const [dashboard] = allOf(dev.service, "AWS::CloudWatch::Dashboard");
    const body = inService(dev, dashboard?.get("DashboardBody"));
    expect(body.length).toBeLessThan(0.85 * JSON.stringify({ widgets }).length);
  });
});

describe("metrics", () => {
  test("the metrics of graphs exist", () => {
    const measured = lines.filter(({ namespace }) => namespace !== "");
    expect(measured.length).toBeGreaterThan(100);
    const faults = measured.map(({ namespace, name, dimensions }) => faultOf(namespace, name, Object.keys(dimensions)));
    expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
  });

  test("the metrics of alarms exist", () => {
    interface Metric {
      Namespace: string;
      MetricName: string;
      Dimensions: { Name: string }[];
    }
    const watched = allOf(dev.service, "AWS::CloudWatch::Alarm").flatMap((alarm) => [
      ...(alarm.get("MetricName") === undefined ? [] : [alarm.json.Properties as Metric]),
      ...alarm
        .list<{ MetricStat?: { Metric: Metric } }>("Metrics")
        .flatMap(({ MetricStat }) => MetricStat?.Metric ?? []),
    ]);
    expect(watched.length).toBeGreaterThan(50);
    const faults = watched.map((one) =>
      faultOf(
        one.Namespace,
        one.MetricName,
        one.Dimensions.map(({ Name }) => Name),
      ),
    );
    expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
  });

  test("the metrics of searches exist, for the own deployment", () => {
    const searches = lines.flatMap(
      ({ options }) => options.expression?.match(/^SEARCH\('(.*)', '\w+', 300\)$/)?.[1] ?? [],
    );
    const searched = searches.map((text) => /^\{(\w+),([\w,]+)\} MetricName="(\w+)" service="Offload-dev"$/.exec(text));
    expect(searched.map((found) => found?.[3])).toEqual(["failed", "processing_ms"]);
    for (const found of searched)
      expect(faultOf(found?.[1] ?? "", found?.[3] ?? "", found?.[2]?.split(",") ?? [])).toBe(undefined);
  });

  test("a metric that does not exist would be found", () => {
    expect(faultOf("Offload", "complete", ["service", "tier"])).toBe("Offload has no complete");
    expect(faultOf("Offload", "started", ["service", "tier", "type"])).toContain("is not kept by service,tier,type");
    expect(faultOf("AWS/SQS", "Depth", ["QueueName"])).toBe("AWS/SQS has no Depth");
    expect(faultOf("AWS/Lambda", "Errors", ["Function"])).toContain("is not kept by Function");
  });

  test("the metrics of the own namespace are those of the deployment", () => {
    const own = lines.filter(({ namespace }) => namespace === "Offload");
    expect(new Set(own.map(({ dimensions }) => dimensions.service))).toEqual(new Set(["Offload-dev"]));
  });
});

describe.each(tiers)("tier %s", (tier) => {
  const start = widgets.findIndex(({ properties }) => properties.markdown === `## Tier ${tier}`);
  const graphs = widgets.slice(start + 1, start + 7);
  const shown = (title: string) => {
    const graph = graphs.find(({ properties }) => properties.title === title);
    return linesOf(graph ?? ({ ...graphs[0], properties: {} } as (typeof widgets)[number]));
  };

  test.each([
    ["Messages", ["waiting", "in flight", "delayed"]],
    ["Oldest message", ["all tenants", "quiet tenants"]],
    ["Tasks", ["submitted", "attempts started", "completed", "suspended", "put into a line"]],
    ["Wait for a worker", ["p50", "p90", "p99"]],
    ["Processing", ["p50", "p90", "p99"]],
    [
      "Failures and retries",
      ["failed", "retried", "crashed", "timed out", "rate limited", "dead-lettered", "in the DLQ"],
    ],
  ])("the graph %s has its lines", (title, labels) => {
    expect(shown(title).map(({ options }) => options.label)).toEqual(labels);
  });

  test("the graphs show the own tier", () => {
    const own = graphs.flatMap(linesOf).map(({ dimensions }) => dimensions.tier ?? dimensions.QueueName?.toLowerCase());
    expect(own.filter((of) => of?.startsWith(tier) !== true)).toEqual([]);
  });

  test("the graphs fit into one row", () => {
    expect(graphs.reduce((sum, { width }) => sum + width, 0)).toBe(24);
    expect(new Set(graphs.map(({ y }) => y)).size).toBe(1);
  });
});

test.each([
  ["Begin to wait for children", "family_waits"],
  ["All children ended", "family_closed"],
  ["Wait for children, p99", "family_wait_ms"],
])("the graph %s has a line for each tier", (title, name) => {
  const shown = titled(title).flatMap(linesOf);
  expect(shown.map((line) => [line.name, line.dimensions.tier])).toEqual(tiers.map((tier) => [name, tier]));
});

test.each([
  ["Notices", ["waiting", "in flight", "delayed", "in the DLQ"]],
  ["Oldest notice", ["all tenants", "quiet tenants"]],
  ["Webhooks", ["delivered", "retried", "given up"]],
  ["Answers of receivers", ["p50", "p99"]],
])("the graph %s has its lines", (title, labels) => {
  const shown = titled(title).flatMap(linesOf);
  expect(shown.map(({ options }) => options.label)).toEqual(labels);
  const of = shown.map(({ dimensions }) => dimensions.QueueName ?? dimensions.tier ?? "");
  expect(of.filter((name) => !/^(Notify(Queue|Dlq)\.QueueName|normal)$/.test(name))).toEqual([]);
});

test("every alarm is shown", () => {
  const shown = widgets.flatMap(({ properties }) => properties.alarms ?? []);
  const all = ["AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm"].flatMap((type) => allOf(dev.service, type));
  expect(shown.sort()).toEqual(all.map(({ name }) => `${name}.Arn`).sort());
});

test("the table of failing types reads the logs of all workers, and of redrive", () => {
  const [table] = titled("Failures by type");
  const query = table?.properties.query ?? "";
  for (const name of ["CriticalWorker", "HighWorker", "NormalWorker", "LowWorker", "Redrive"]) {
    expect(query).toContain(`SOURCE '${name}/Logs'`);
  }
  expect(query).toContain('filter status = "failed" and outcome in ["failed"');
  expect(query).toMatch(/by type, error_type/);
});

test("the first text links to the runbook, and says how to find a failing task", () => {
  const linked = synthesize({ alarms: { runbookUrl: "https://wiki.example.com/offload" } });
  expect(widgetsOf(linked)[0]?.properties.markdown).toContain("[runbook](https://wiki.example.com/offload)");
  expect(widgets[0]?.properties.markdown).toContain("`npx offload docs runbook`");
  expect(widgets[0]?.properties.markdown).toContain("npx offload dlq list");
});

describe("the estimate of costs", () => {
  const [total] = titled("USD in the selected time range");
  const its = linesOf(total ?? ({ properties: {} } as (typeof widgets)[number]));

  /** What the estimate comes to, when metrics have these sums, by name; it has ids that look each other up. */
  function costOf(sums: Record<string, (line: Line) => number | undefined>): number | undefined {
    const values = new Map<string, number | undefined>();
    const valueOfLine = (line: Line): number | undefined => {
      const { expression } = line.options;
      if (expression === undefined) return sums[line.name]?.(line);
      const ids = expression.match(/[a-z]\w*/g) ?? [];
      return evaluate(expression, Object.fromEntries(ids.map((id) => [id, byId(id)])));
    };
    const byId = (id: string): number | undefined => {
      const line = its.find(({ options }) => options.id === id);
      if (line === undefined) throw new Error(`no line has the id ${id}`);
      if (!values.has(id)) values.set(id, valueOfLine(line));
      return values.get(id);
    };
    const visible = its.filter(({ options }) => options.visible !== false);
    expect(visible).toHaveLength(1);
    return visible[0] && valueOfLine(visible[0]);
  }

  test("the estimate is empty when nothing was measured", () => {
    expect(costOf({})).toBeUndefined();
  });

  test("the estimate names the date and region of its prices", () => {
    const [graph] = widgets.filter(({ properties }) => properties.title?.startsWith("USD per hour"));
    expect(graph?.properties.title).toContain(`us-east-1 as of ${figuresAsOf}`);
    expect(
      linesOf(graph ?? ({ properties: {} } as (typeof widgets)[number]))
        .filter(({ options }) => options.visible !== false)
        .map(({ options }) => options.label),
    ).toEqual(["API Gateway", "Lambda", "DynamoDB", "SQS", "Scheduler", "logs"]);
  });

  const million = () => 1e6;
  const ofTable = ({ dimensions }: Line) => (dimensions.GlobalSecondaryIndexName === undefined ? 1e6 : undefined);
  const only = (what: string) => (line: Line) => (Object.values(line.dimensions).includes(what) ? 1e6 : undefined);

  test.each([
    ["requests", { Count: million }, prices.httpApiRequests.value],
    ["writes", { ConsumedWriteCapacityUnits: ofTable }, prices.tableWrites.value],
    ["writes, with those of the indexes", { ConsumedWriteCapacityUnits: million }, 4 * prices.tableWrites.value],
    ["reads", { ConsumedReadCapacityUnits: ofTable }, prices.tableReads.value],
    ["sends", { NumberOfMessagesSent: only("LowQueue.QueueName") }, prices.queueRequests.value],
    ["firings", { InvocationAttemptCount: million }, prices.schedules.value],
    ["calls of submit", { Invocations: only("Submit/Function") }, prices.lambdaRequests.value],
    ["notices", { NumberOfMessagesSent: only("NotifyQueue.QueueName") }, prices.queueRequests.value],
    [
      "batches of notices: a call, and three requests to their queue",
      { Invocations: only("Notify/Function") },
      prices.lambdaRequests.value + 3 * prices.queueRequests.value,
    ],
    [
      "batches of a worker: a call, and three requests to its queue",
      { Invocations: only("LowWorker/Function") },
      prices.lambdaRequests.value + 3 * prices.queueRequests.value,
    ],
    ["milliseconds of 512 MB", { Duration: only("Submit/Function") }, 1000 * 0.5 * prices.lambdaGbSeconds.value],
    ["bytes of logs", { IncomingBytes: only("Submit/Logs") }, prices.logs.value / 1000],
  ])("a million %s cost their price", (_, sums, usd) => {
    expect(costOf(sums)).toBeCloseTo(usd, 8);
  });

  test("the estimate uses each worker's own memory", () => {
    const chosen = synthesize({ tiers: { low: { memorySize: 1769 } } });
    const found = widgetsOf(chosen)
      .flatMap(linesOf)
      .find(({ options }) => options.id === "memory1769Cost");
    const factor = Number(found?.options.expression?.split("*")[1]);
    expect(factor).toBeCloseTo((1769 / 1024 / 1000) * prices.lambdaGbSeconds.value, 14);
    expect(found?.options.expression).toContain("SUM([msLowWorker])");
  });

  test("the estimate knows every index", () => {
    const named = its.flatMap(({ dimensions }) => dimensions.GlobalSecondaryIndexName ?? []);
    expect(new Set(named)).toEqual(new Set(Object.values(indexes)));
  });
});

test("there is no dashboard when the option is off", () => {
  const without = synthesize({ dashboard: false });
  expect(allOf(without.service, "AWS::CloudWatch::Dashboard")).toEqual([]);
  expect(without.service.toJSON().Outputs.DashboardUrl).toBeUndefined();
});

test("the dashboard is named after its deployment, and an output has its URL", () => {
  const dashboard = resources(dev.service, "AWS::CloudWatch::Dashboard")("Dashboard/Dashboard");
  expect(dashboard.get("DashboardName")).toBe("Offload-dev");
  expect(JSON.stringify(dev.service.toJSON().Outputs.DashboardUrl.Value)).toContain(
    "#dashboards/dashboard/Offload-dev",
  );
});
