import { describe, expect, test } from "vitest";
import type { CloudWatchClient } from "#aws-sdk/client-cloudwatch";
import { CloudWatchHistory } from "../../src/aws/metric-history.ts";
import { spanOf } from "../../src/core/control/metric-history.ts";
import { PortUnavailable } from "../../src/core/model/errors.ts";

type Fields = Record<string, unknown>;

/** A history of the deployment `shop`, and the requests that it sent. */
function historyOf(answer: (input: Fields, index: number) => unknown) {
  const asked: Fields[] = [];
  const client = {
    send: async ({ input }: { input: Fields }) => answer(input, asked.push(input) - 1),
  };
  return { asked, history: new CloudWatchHistory(client as unknown as CloudWatchClient, "shop") };
}

const span = spanOf(Date.UTC(2027, 0, 1, 12), 3);

describe("the series of CloudWatch", () => {
  test("are read with one request, for this deployment and in whole periods", async () => {
    const { history, asked } = historyOf(() => ({}));
    const series = await history.series(span);
    expect(series).toHaveLength(28);
    expect(series.every(({ points }) => points.length === 0)).toBe(true);
    expect(asked).toHaveLength(1);
    const queries = asked[0]?.MetricDataQueries as { Id: string; MetricStat: Fields }[];
    expect(queries).toHaveLength(28);
    expect(queries[0]).toEqual({
      Id: "m0",
      MetricStat: {
        Metric: {
          Namespace: "Offload",
          MetricName: "submitted",
          Dimensions: [
            { Name: "service", Value: "shop" },
            { Name: "tier", Value: "critical" },
          ],
        },
        Period: 180,
        Stat: "Sum",
      },
    });
    expect(queries.map(({ MetricStat }) => MetricStat.Stat)).toContain("p95");
    expect(asked[0]).toMatchObject({ StartTime: new Date("2027-01-01T09:00:00Z"), EndTime: new Date(span.to * 1000) });
  });

  test.each([
    ["dates", (seconds: number) => new Date(seconds * 1000)],
    ["numbers", (seconds: number) => seconds],
  ])("have their values under their names, with times as %s", async (_, timeOf) => {
    const { history } = historyOf(() => ({
      MetricDataResults: [
        { Id: "m8", Timestamps: [timeOf(span.from), timeOf(span.from + 180)], Values: [3, 4.5] },
        { Id: "m0", Timestamps: [timeOf(span.from)], Values: [7] },
      ],
    }));
    const series = (await history.series(span)).filter(({ points }) => points.length > 0);
    expect(series).toEqual([
      { name: "submitted", statistic: "sum", tier: "critical", points: [[span.from, 7]] },
      {
        ...{ name: "completed", statistic: "sum", tier: "high" },
        points: [
          [span.from, 3],
          [span.from + 180, 4.5],
        ],
      },
    ]);
  });

  test("are unavailable while CloudWatch is", async () => {
    const { history } = historyOf(() => {
      throw Object.assign(new Error("slow down"), { name: "ThrottlingException" });
    });
    await expect(history.series(span)).rejects.toThrow(PortUnavailable);
    await expect(history.alarms()).rejects.toThrow(PortUnavailable);
  });
});

describe("the alarms of CloudWatch", () => {
  const alarm = (name: string, more: Fields = {}) => ({
    ...{ AlarmName: name, StateValue: "OK", AlarmDescription: "shop: a tier has dead letters.\nFirst: look." },
    ...more,
  });

  test("are those of the deployment, in the order of their names", async () => {
    const { history, asked } = historyOf(() => ({
      MetricAlarms: [
        alarm("shop-low-depth", { StateValue: "INSUFFICIENT_DATA" }),
        alarm("shop-eu-low-depth", { AlarmDescription: "shop-eu: a queue is long." }),
        alarm("shop-of-somebody", { AlarmDescription: undefined }),
        alarm("shop-high-dead-letters"),
      ],
      CompositeAlarms: [alarm("shop-pipeline-unhealthy", { StateValue: "ALARM" })],
    }));
    expect((await history.alarms()).map(({ name, state }) => [name, state])).toEqual([
      ["shop-high-dead-letters", "ok"],
      ["shop-low-depth", "insufficient_data"],
      ["shop-pipeline-unhealthy", "alarm"],
    ]);
    expect(asked).toMatchObject([{ AlarmNamePrefix: "shop-", AlarmTypes: ["MetricAlarm", "CompositeAlarm"] }]);
  });

  test("have the time of their state, not of an update that left it", async () => {
    const [changed, updated] = ["2027-01-01T00:00:00.000Z", "2027-01-02T00:00:00.000Z"];
    const times = { StateTransitionedTimestamp: new Date(changed), StateUpdatedTimestamp: new Date(updated) };
    const { history } = historyOf(() => ({
      MetricAlarms: [
        alarm("shop-a", times),
        alarm("shop-b", { StateUpdatedTimestamp: Date.parse(updated) / 1000 }),
        alarm("shop-c"),
      ],
    }));
    expect((await history.alarms()).map(({ since }) => since)).toEqual([changed, updated, null]);
  });

  test("are read page by page, five pages at most", async () => {
    const paged = historyOf((_, index) => ({
      MetricAlarms: [alarm(`shop-${index}`)],
      ...(index < 2 && { NextToken: `page-${index + 1}` }),
    }));
    expect((await paged.history.alarms()).map(({ name }) => name)).toEqual(["shop-0", "shop-1", "shop-2"]);
    expect(paged.asked.map(({ NextToken }) => NextToken)).toEqual([undefined, "page-1", "page-2"]);
    const endless = historyOf((_, index) => ({ MetricAlarms: [alarm(`shop-${index}`)], NextToken: "more" }));
    expect(await endless.history.alarms()).toHaveLength(5);
  });
});
