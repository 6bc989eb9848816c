import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { pause, resume } from "../../../src/core/extras/limits/manage-flow.ts";
import { Unavailable } from "../../../src/core/model/errors.ts";
import type { MetricName } from "../../../src/core/model/metrics.ts";
import { iso } from "../../../src/core/model/record.ts";
import type { TaskType } from "../../../src/core/task/task.ts";
import { pipelineWith } from "../../support/memory-pipeline.ts";
import { limits } from "../../support/parts/limits.ts";
import { typeOf } from "../../support/task-types.ts";
import { workerPool } from "../../support/worker-pool.ts";
import { evaluate } from "../metric-math.ts";
import { allOf, inService, type Resource, stage } from "../synthesis.ts";

const memoryPipeline = pipelineWith(limits);

/*
 * An hour of each incident against the alarms of the template: which of them go off, and at which minute. Those of the core run in memory, with
 * the data points that they make; the others are points of AWS, or of a metric whose own test shows when it counts.
 */

const dev = stage("dev");
const alarms = allOf(dev.service, "AWS::CloudWatch::Alarm");

/** The part of a metric that one minute adds. */
interface Point {
  metric: MetricName | "ApproximateNumberOfMessagesVisible" | "ApproximateAgeOfOldestMessage";
  /** A tier, or a queue, as the dimensions of the metric have it. */
  of: string;
  minute: number;
  value: number;
}

interface Stat {
  Metric: { MetricName: string; Dimensions?: { Value: unknown }[] };
  Period: number;
  Stat: string;
}

interface Query {
  Id: string;
  Expression?: string;
  MetricStat?: Stat;
}

/** The metrics of an alarm, with the expression that it watches. */
function watchedBy(one: Resource): { expression: string; stats: [id: string, stat: Stat][] } {
  const metrics = one.list<Query>("Metrics");
  if (metrics.length > 0) {
    const stats = metrics.flatMap(({ Id, MetricStat }): [string, Stat][] => (MetricStat ? [[Id, MetricStat]] : []));
    return { expression: metrics[0]?.Expression ?? "", stats };
  }
  const Metric = { MetricName: String(one.get("MetricName")), Dimensions: one.list<{ Value: unknown }>("Dimensions") };
  const Stat = String(one.get("Statistic") ?? one.get("ExtendedStatistic"));
  return { expression: "m", stats: [["m", { Metric, Period: Number(one.get("Period")), Stat }]] };
}

/** The value of a metric in a period that ends with a minute. Undefined: it has no data. */
function valueAt(points: readonly Point[], { Metric, Period, Stat: how }: Stat, endMinute: number): number | undefined {
  const names = (Metric.Dimensions ?? []).map(({ Value }) => inService(dev, Value));
  const values = points
    .filter(({ metric, of }) => metric === Metric.MetricName && names.includes(of))
    .filter(({ minute }) => minute < endMinute && minute >= endMinute - Period / 60)
    .map(({ value }) => value);
  if (values.length === 0) return undefined;
  return how === "Sum" ? values.reduce((sum, value) => sum + value, 0) : Math.max(...values);
}

/** The alarms that go off within the hour, each with its minute. */
function alarmsOf(points: readonly Point[]): Record<string, number> {
  const found: Record<string, number> = {};
  for (const one of alarms) {
    const { expression, stats } = watchedBy(one);
    const minutes = Math.max(...stats.map(([, { Period }]) => Period)) / 60;
    const breaches = (end: number) => {
      const measured = Object.fromEntries(stats.map(([id, stat]) => [id, valueAt(points, stat, end)]));
      const value = evaluate(expression, measured);
      return value !== undefined && value > Number(one.get("Threshold"));
    };
    const periods = Number(one.get("EvaluationPeriods"));
    for (let end = minutes; end <= 60 && found[one.name] === undefined; end += minutes)
      if (Array.from({ length: periods }, (_, before) => end - before * minutes).every(breaches)) found[one.name] = end;
  }
  return Object.fromEntries(Object.entries(found).map(([name, minute]) => [name.replace("Alarms/", ""), minute]));
}

/** A pipeline in memory whose metrics tell their minute. */
function inMemory(handler: TaskType["handler"], more: Partial<TaskType>) {
  const pipeline = memoryPipeline([typeOf(handler, more)]);
  const pool = workerPool(pipeline);
  const points: Point[] = [];
  let startMs = pipeline.clock.now();
  pipeline.ports.metrics.add = (metric, value, { tier }) => {
    const minute = Math.floor((pipeline.clock.now() - startMs) / 60_000);
    points.push({ metric, of: tier, minute, value });
  };
  /** Each minute brings tasks, for an hour. */
  const hour = async (perMinute: number) => {
    for (let minute = 0; minute < 60; minute++) {
      for (let n = 0; n < perMinute; n++) await pipeline.accept();
      await pool.pass(60_000, 5_000);
    }
    return points;
  };
  const begin = () => {
    startMs = pipeline.clock.now();
    points.length = 0;
  };
  return { ...pipeline, pool, hour, begin };
}

const down = () => Promise.reject(new Unavailable("down"));

const steady = (metric: Point["metric"], of: string, value = 1, from = 0): Point[] =>
  Array.from({ length: 60 - from }, (_, index) => ({ metric, of, minute: from + index, value }));

const once = (metric: MetricName): Point[] => [{ metric, of: "normal", minute: 2, value: 1 }];

/** The incident, the points that its hour makes, and the alarms that go off, with their minutes. */
const incidents: [name: string, points: () => Point[] | Promise<Point[]>, alarms: Record<string, number>][] = [
  ["a type fails that did not before", () => once("new_failure"), { "new-failure": 5 }],
  [
    "a dead letter stays, whose record is gone",
    () => steady("ApproximateNumberOfMessagesVisible", "NormalDlq.QueueName"),
    { "normal-dead-letters": 1 },
  ],
  ["a schedule misses a time", () => once("schedule_missed"), { "schedule-missed": 5 }],
  ["a receiver has failed for four days", () => once("receiver_failing"), { "receivers-failing": 5 }],
  [
    "a service behind a breaker is down",
    () => inMemory(down, { breaker: { failures: 10, coolDownSeconds: 60 }, maxAttempts: 5 }).hour(3),
    { "breaker-open": 10, "normal-retries": 15 },
  ],
  [
    "a limit is too low",
    async () => {
      const one = inMemory(() => new Promise<void>((done) => one.clock.after(240_000, done)), {
        concurrency: { limit: 1 },
        timeoutSeconds: 600,
      });
      return one.hour(2);
    },
    { "line-waits": 15, "normal-slow-processing": 15 },
  ],
  [
    "a pause is forgotten",
    async () => {
      const one = inMemory(() => null, {});
      const since = iso(one.clock.now() - 24.5 * 3_600_000);
      await one.flowSettings.put({ kind: "pause", name: "pause/type/test.task", since, by: "olga" });
      return one.hour(1);
    },
    { "pause-forgotten": 30 },
  ],
  [
    "a type is resumed while its service is down",
    async () => {
      const one = inMemory(down, { maxAttempts: 1 });
      const target = { scope: "type", type: "test.task", tenantId: "acme" } as const;
      const pausing = pause(one.ports, target, "olga");
      await one.pool.pass(3_000);
      await pausing;
      for (let n = 0; n < 200; n++) await one.accept();
      await one.pool.pass(1_000);
      one.begin();
      await resume(one.ports, target, "normal", "olga");
      return one.hour(0);
    },
    { "breaker-open": 10, "normal-errors": 15, "new-failure": 5 },
  ],
];

test.each(incidents)("%s", async (_, pointsOf, expected) => {
  expect(alarmsOf(await pointsOf())).toEqual(expected);
});

/** The first line of an alarm's mail, without the deployment. */
const mailOf = (alarm: string): string => {
  const one = alarms.find(({ name }) => name === `Alarms/${alarm}`);
  return (String(one?.get("AlarmDescription")).split("\n")[0] ?? "").replace("Offload-dev: ", "");
};

test.each(incidents)("docs/on-call.md tells of: %s", (name, _, expected) => {
  const told = Object.entries(expected).map(([alarm, minute]) => `\`${alarm}\`, minute ${minute}: ${mailOf(alarm)}`);
  expect(readFileSync("docs/on-call.md", "utf8")).toContain(`| ${name} | ${told.join("<br>")} |`);
});
