import { describe, expect, test } from "vitest";
import type { AlarmView, MetricHistory, MetricSeries, MetricSpan } from "../../../src/core/control/metric-history.ts";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import { iso } from "../../../src/core/model/record.ts";
import { memoryPipeline } from "../../support/memory-pipeline.ts";
import { ada, appsOf, ask, olga, problem, sam } from "../../support/served.ts";
import { echo } from "../../support/task-types.ts";

const alarm: AlarmView = { name: "shop-depth", state: "alarm", description: null, since: null };

/** The app over a history that notes for which spans it was asked. */
function setUp(more: Partial<MetricHistory> = {}) {
  const spans: MetricSpan[] = [];
  const history: MetricHistory = {
    series: async (span) => {
      spans.push(span);
      const points: MetricSeries["points"] = [[span.from, 7]];
      return [{ name: "submitted", statistic: "sum", tier: "low", points }];
    },
    alarms: async () => [alarm],
    ...more,
  };
  const { ports, clock } = memoryPipeline([echo]);
  const { control } = appsOf({ ...ports, history });
  return { clock, spans, get: (path: string, as: object = ada) => ask(control, path, { as }) };
}

describe("the measurements", () => {
  test("are those of the last three hours, in at most 72 whole periods up to now", async () => {
    const { clock, spans, get } = setUp();
    const answer = await get("/metrics");
    const [span] = spans;
    if (span === undefined) throw new Error("not asked");
    expect(span.periodSeconds).toBe(180);
    expect(span.to - span.from).toBe(3 * 3_600);
    expect(span.to % 180).toBe(0);
    expect(span.to * 1000).toBeGreaterThanOrEqual(clock.now());
    expect(span.to * 1000 - clock.now()).toBeLessThan(180_000);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.json).toEqual({
      ...{ from: iso(span.from * 1000), to: iso(span.to * 1000), period_seconds: 180 },
      series: [{ name: "submitted", statistic: "sum", tier: "low", points: [[span.from, 7]] }],
    });
  });

  test.each([
    [1, 60],
    [2, 120],
    [24, 1_200],
  ])("of %i hours have periods of %i s", async (hours, periodSeconds) => {
    const { spans, get } = setUp();
    expect((await get(`/metrics?hours=${hours}`)).json).toMatchObject({ period_seconds: periodSeconds });
    const [span = { from: 0, to: 0 }] = spans;
    expect((span.to - span.from) / periodSeconds).toBeLessThanOrEqual(72);
    expect(span.to - span.from).toBeGreaterThanOrEqual(hours * 3_600);
  });

  test.each(["0", "25", "-1", "1.5", "", "x", "1e1", "999"])("are not of %j hours", async (hours) => {
    const { spans, get } = setUp();
    expect(await get(`/metrics?hours=${hours}`)).toMatchObject(problem(422, "invalid_input"));
    expect(spans).toEqual([]);
  });
});

test("alarms are listed as they are", async () => {
  expect((await setUp().get("/alarms")).json).toEqual({ alarms: [alarm] });
});

test.each(["/metrics", "/alarms"])("%s is for admins only", async (path) => {
  const { spans, get } = setUp();
  expect(await get(path, {})).toMatchObject(problem(401, "unauthenticated"));
  for (const as of [sam, olga]) expect(await get(path, as)).toMatchObject(problem(403, "forbidden"));
  expect(spans).toEqual([]);
});

test.each(["/metrics", "/alarms"])("%s answers 503 while there is no history", async (path) => {
  const fails = () => Promise.reject(new PortUnavailable("CloudWatch"));
  expect(await setUp({ series: fails, alarms: fails }).get(path)).toMatchObject(problem(503, "unavailable"));
});

test.each([sam, olga, ada])("the caller reads who it is: $role", async (as) => {
  const pipeline = memoryPipeline([echo]);
  const { status } = appsOf(pipeline.ports);
  expect(await ask(status, "/identity", { as })).toMatchObject({
    ...{ status: 200, json: { tenant_id: "acme", principal: as.principal, role: as.role } },
  });
  expect(await ask(status, "/identity", { as: {} })).toMatchObject(problem(401, "unauthenticated"));
});
