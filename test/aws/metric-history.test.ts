import type { CloudWatchClient } from "@aws-sdk/client-cloudwatch";
import { expect, test } from "vitest";
import { CloudWatchHistory } from "../../src/aws/metric-history.ts";
import { spanOf } from "../../src/core/metric-history.ts";

type Input = Record<string, unknown>;

/** A client that answers in turn, and keeps what it was sent. */
function answering(...answers: Input[]) {
  const sent: Input[] = [];
  const send = async ({ input }: { input: Input }) => {
    sent.push(input);
    return answers[sent.length - 1];
  };
  return { sent, client: { send } as unknown as CloudWatchClient };
}

test("series are those of the deployment's tiers, with times of either client", async () => {
  const at = new Date("2027-01-01T00:00:00Z");
  const { client, sent } = answering({
    MetricDataResults: [
      { Id: "m1", Timestamps: [at], Values: [5] },
      { Id: "m2", Timestamps: [at.getTime() / 1000 + 60], Values: [7] },
    ],
  });
  const history = new CloudWatchHistory(client, "Offload-prod");
  const series = await history.series(spanOf(at.getTime(), 3));
  expect(series).toHaveLength(28);
  expect(series[1]).toEqual({
    name: "completed",
    statistic: "sum",
    tier: "critical",
    points: [[at.getTime() / 1000, 5]],
  });
  expect(series[2]?.points).toEqual([[at.getTime() / 1000 + 60, 7]]);
  const [query] = (sent[0]?.MetricDataQueries ?? []) as Input[];
  expect(query).toMatchObject({
    MetricStat: {
      Metric: { Namespace: "Offload", Dimensions: [{ Value: "Offload-prod" }, { Value: "critical" }] },
      Stat: "Sum",
    },
  });
});

test("alarms are read from all pages, and only those of the deployment", async () => {
  const alarm = (AlarmName: string, AlarmDescription: string, StateValue: string) => ({
    ...{ AlarmName, AlarmDescription, StateValue, StateTransitionedTimestamp: 1_798_761_600 },
  });
  const { client } = answering(
    { MetricAlarms: [alarm("shop-low-depth", "shop: too many", "ALARM")], NextToken: "next" },
    {
      CompositeAlarms: [alarm("shop-a", "shop: users wait", "OK"), alarm("shop-eu-a", "shop-eu: users wait", "ALARM")],
      MetricAlarms: [alarm("shop-z", "shop: late", "INSUFFICIENT_DATA")],
    },
  );
  const since = "2027-01-01T00:00:00.000Z";
  expect(await new CloudWatchHistory(client, "shop").alarms()).toEqual([
    { name: "shop-a", state: "ok", description: "shop: users wait", since },
    { name: "shop-low-depth", state: "alarm", description: "shop: too many", since },
    { name: "shop-z", state: "insufficient_data", description: "shop: late", since },
  ]);
});

test.each([1, 3, 12, 24])("a span of %i hours has whole periods of minutes, at most 72", (hours) => {
  const now = Date.parse("2027-01-01T00:00:30Z");
  const { from, to, periodSeconds } = spanOf(now, hours);
  expect(periodSeconds % 60).toBe(0);
  expect((to - from) % periodSeconds).toBe(0);
  expect((to - from) / periodSeconds).toBeLessThanOrEqual(72);
  expect(to * 1000).toBeGreaterThanOrEqual(now);
  expect(from * 1000).toBeLessThanOrEqual(now - hours * 3_600_000 + periodSeconds * 1000);
});
