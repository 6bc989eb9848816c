import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { run } from "../../../src/tools/cli/main.ts";
import type { Terminal } from "../../../src/tools/cli/terminal.ts";
import { limits, prices } from "../../../src/tools/plan/figures.ts";
import { awsModel } from "../../../src/tools/plan/model.ts";
import { picture } from "../../../src/tools/plan/picture.ts";
import { breaking, type PlanReport, reportOf, reportText } from "../../../src/tools/plan/report.ts";
import { readScenario, type ScenarioInput } from "../../../src/tools/plan/scenario.ts";
import { simulate } from "../../../src/tools/plan/simulate.ts";
import { clockTime, dollars, duration } from "../../../src/tools/plan/wording.ts";
import { quietTerminal } from "../../support/quiet-terminal.ts";

function planned(input: ScenarioInput) {
  const scenario = readScenario(input);
  const outcome = simulate(awsModel(scenario));
  return { outcome, report: reportOf(scenario, outcome) };
}

describe("where it breaks first", () => {
  const first = (input: ScenarioInput) => planned(input).report.bottlenecks[0];
  const wide = { throttle: { requestsPerSecond: 100_000, burst: 100_000 }, accountConcurrency: 100_000 };

  test("the API's throttle breaks first", () => {
    expect(first({ hours: 0.05, tasksPerSecond: 120 })).toMatchObject({ what: "the API's own throttle", allowed: 500 });
  });

  test("a tier's concurrency breaks first, and the report says when", () => {
    const tiers = { low: { share: 1, maxConcurrency: 2 } };
    const { report } = planned({
      hours: 0.1,
      tasksPerSecond: [0, 15],
      durations: { p50Ms: 3_000, p99Ms: 3_000 },
      tiers,
    });
    expect(report.bottlenecks[0]).toMatchObject({ what: "tier low: concurrent invocations", allowed: 2, needed: 2 });
    expect(breaking(report)).toMatch(
      /^First limit reached: tier low: concurrent invocations \(2 at once\), at 00:03:\d\d/,
    );
  });

  test("the account's concurrency breaks", () => {
    const tiers = { normal: { share: 1, maxConcurrency: 1_000 } };
    const input = { ...wide, hours: 0.05, tasksPerSecond: 100, durations: { p50Ms: 60_000, p99Ms: 60_000 }, tiers };
    const reached = planned({ ...input, accountConcurrency: 50 }).report.bottlenecks.filter(
      (one) => one.firstAt !== undefined,
    );
    expect(reached.map(({ what }) => what)).toContain("the account's concurrency");
  });

  test("a tenant's index and a cold table break", () => {
    const { report } = planned({ ...wide, hours: 0.01, tasksPerSecond: 6_000, pollsPerTask: 0 });
    const reached = report.bottlenecks.filter((one) => one.firstAt !== undefined).map(({ what }) => what);
    expect(reached).toContain("a partition of the busiest tenant's index");
    expect(reached).toContain("a partition of the busiest submitter's index");
    expect(reached).toContain("warm throughput of the on-demand table");
  });

  test.each([
    [{}, 250, 1_000],
    [{ listShards: 2 }, 250, 500],
    [{ listShards: 8 }, 125, 125],
    [{ listShards: 8, busiestTenantShare: 0.5, busiestSubmitterShare: 0.1 }, 62.5, 12.5],
  ])(
    "with %j, each partition of a tenant's and of a submitter's index takes its part of 1,000 submits",
    (more, tenant, submitter) => {
      const load = {
        ...wide,
        hours: 0.01,
        tasksPerSecond: 0,
        bursts: [{ atSeconds: 0, tasks: 1_000, overSeconds: 1 }],
      };
      const { outcome, report } = planned({ ...load, pollsPerTask: 0, ...more });
      const scale = outcome.traffic.submits.peak.count / 1_000;
      const needed = (of: string) =>
        report.bottlenecks.find(({ what }) => what === `a partition of the busiest ${of}'s index`)?.needed;
      expect(needed("tenant")).toBeCloseTo(tenant * scale);
      expect(needed("submitter")).toBeCloseTo(submitter * scale);
    },
  );

  test("pollers break first when handlers are faster", () => {
    const tiers = { critical: { share: 1, provisionedPollers: { minimum: 2, maximum: 2 } } };
    const durations = { p50Ms: 10, p99Ms: 10 };
    const { report } = planned({ ...wide, hours: 0.02, tasksPerSecond: 80, pollsPerTask: 0, durations, tiers });
    expect(report.bottlenecks.find(({ firstAt }) => firstAt !== undefined)).toMatchObject({
      ...{ what: "tier critical: polls of the provisioned pollers", allowed: 20, unit: "batches per second" },
    });
  });

  test("environments break that start faster than Lambda makes them", () => {
    const tiers = { critical: { share: 1, provisionedPollers: { minimum: 200, maximum: 2_000 } } };
    const bursts = [{ atSeconds: 0, tasks: 60_000, overSeconds: 5 }];
    const durations = { p50Ms: 30_000, p99Ms: 30_000 };
    const { report } = planned({ ...wide, hours: 0.02, tasksPerSecond: 0, bursts, durations, tiers });
    const reached = report.bottlenecks.filter(({ firstAt }) => firstAt !== undefined).map(({ what }) => what);
    expect(reached).toContain("tier critical: new environments");
  });

  test("more than ten million waiting schedules exceed their limit", () => {
    const { outcome, report } = planned({ hours: 0.1, tasksPerSecond: 2, delayed: { share: 1, seconds: 86_400 } });
    const waiting = report.bottlenecks.find(({ what }) => what === "waiting one-off schedules");
    expect(waiting).toMatchObject({ allowed: 10_000_000, needed: outcome.traffic.schedules.total, firstAt: undefined });
  });

  test("the throttle does not break when its burst covers a short peak", () => {
    const bursts = [{ atSeconds: 30, tasks: 600, overSeconds: 1 }];
    const { report } = planned({ hours: 0.05, tasksPerSecond: 1, pollsPerTask: 0, bursts });
    const throttle = report.bottlenecks.find(({ what }) => what === "the API's own throttle");
    expect(throttle?.firstAt).toBeUndefined();
    expect(throttle?.needed).toBeLessThan(20);
    expect(breaking(report)).not.toMatch(/ 0\.\d+ times/);
  });

  test("nothing breaks when there are no tasks", () => {
    expect(breaking(planned({ hours: 0.1, tasksPerSecond: 0 }).report)).toBe(
      "No limit is reached, because there are no tasks.",
    );
  });

  test("nothing breaks, and the report says how much more would fit", () => {
    const { report } = planned({ hours: 0.1, tasksPerSecond: 1 });
    expect(report.bottlenecks.every((one) => one.firstAt === undefined)).toBe(true);
    expect(breaking(report)).toMatch(/^No limit is reached\. With \S+ times as many tasks the first one would be /);
  });
});

describe("the scenario", () => {
  test.each<[unknown, string]>([
    [{ tasksPerSeconds: 3 }, "the scenario: Unrecognized key"],
    [{ tiers: { low: { share: 0.5 } } }, "tiers: expected shares that add up to 1"],
    [{ durations: { p50Ms: 5, p99Ms: 1 } }, "durations.p99Ms: expected at least p50Ms"],
    [{ prices: { gold: 1 } }, "prices"],
    [
      { tiers: { low: { share: 1, maxConcurrency: 5, provisionedPollers: { minimum: 2, maximum: 3 } } } },
      "tiers.low.provisionedPollers: expected either",
    ],
  ])("%j is refused in one line", (input, message) => {
    expect(() => readScenario(input)).toThrow(message);
  });
});

describe("the report", () => {
  const { outcome, report } = planned({ name: "A <test>", hours: 0.2, tasksPerSecond: [5, 20], failureRate: 0.1 });

  test("the report has waits, limits, costs and the alternatives", () => {
    const text = reportText(report);
    for (const part of [
      "A <test>: ",
      "wait p50",
      "wait p99",
      "No limit is reached",
      "per million tasks",
      "Step Functions Express",
    ]) {
      expect(text).toContain(part);
    }
  });

  test("the report says whose prices it uses", () => {
    const line = (input: ScenarioInput) =>
      reportText(planned({ hours: 0.01, ...input }).report)
        .trimEnd()
        .split("\n")
        .at(-1);
    expect(line({})).toMatch(/^Prices and limits: us-east-1, as of \d{4}-/);
    expect(line({ region: "eu-central-1" })).toBe("The scenario has no prices of eu-central-1.");
    expect(line({ region: "eu-central-1", prices: { tableWrites: 0.7 } })).toBe(
      "Prices of eu-central-1 from the scenario: tableWrites.",
    );
  });

  test("the report is drawn as well-formed SVG with a curve for each measure", () => {
    const svg = picture("A <test>", outcome);
    expect(svg).toMatch(/^<svg [^>]+>\n/);
    expect(svg.trimEnd()).toMatch(/<\/svg>$/);
    expect(svg.match(/<polyline /g)).toHaveLength(4);
    expect(svg).toContain("A &lt;test&gt;");
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
  });
});

describe("the command", () => {
  const kept = () => {
    const lines = { out: [] as string[], note: [] as string[] };
    const terminal: Terminal = {
      ...quietTerminal,
      out: (line) => lines.out.push(line),
      note: (line) => lines.note.push(line),
    };
    return { lines, terminal };
  };

  test("the command plans the example, with options in place of its fields, and draws the picture", async () => {
    const folder = mkdtempSync(join(tmpdir(), "offload-plan-"));
    try {
      const { lines, terminal } = kept();
      const file = join(folder, "plan.svg");
      const options = ["--hours", "0.5", "--rate", "1,2", "--ms", "50", "--picture", file, "--json"];
      expect(await run(["plan", "examples/plan-shop.json", ...options], terminal)).toBe(0);
      expect(JSON.parse(lines.out.join(""))).toMatchObject({ name: "A shop's day", hours: 0.5 });
      expect(readFileSync(file, "utf8")).toContain("A shop's day");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("the command plans a family, with another number of children in the tier of the example", async () => {
    const { lines, terminal } = kept();
    expect(await run(["plan", "examples/plan-fan-out.json", "--json"], terminal)).toBe(0);
    expect(await run(["plan", "examples/plan-fan-out.json", "--children", "250", "--json"], terminal)).toBe(0);
    const plans = lines.out.map((text) =>
      (JSON.parse(text) as PlanReport).tiers.map(({ tier, tasks }) => [tier, tasks]),
    );
    expect(plans).toEqual([
      [
        ["normal", 1],
        ["low", 100_000],
      ],
      [
        ["normal", 1],
        ["low", 250],
      ],
    ]);
  });

  test("of a thousand tasks a second, with the settings of docs/scale.md, only the table's units need something else", async () => {
    const { lines, terminal } = kept();
    expect(
      await run(["plan", "examples/plan-scale.json", "--rate", "1000", "--hours", "0.05", "--json"], terminal),
    ).toBe(0);
    const { bottlenecks } = JSON.parse(lines.out.join("")) as PlanReport;
    expect(bottlenecks.filter(({ allowed, needed }) => needed >= allowed).map(({ what }) => what)).toEqual([
      "warm throughput of the on-demand table",
    ]);
  });

  test("the command prints the scenario with its defaults, which is a scenario again", async () => {
    const { lines, terminal } = kept();
    expect(await run(["plan", "--rate", "3", "--defaults"], terminal)).toBe(0);
    const printed = JSON.parse(lines.out.join(""));
    expect(readScenario(printed)).toEqual(readScenario({ tasksPerSecond: [3] }));
  });

  test("options set the requests that wait", async () => {
    const { lines, terminal } = kept();
    expect(await run(["plan", "--waits", "1", "--wait-seconds", "8", "--defaults"], terminal)).toBe(0);
    expect(JSON.parse(lines.out.join("")).waits).toEqual({ perTask: 1, seconds: 8, places: 100 });
  });

  test("options set the limits and the keys whose tasks wait", async () => {
    const { lines, terminal } = kept();
    const limits = ["--places", "3", "--starts", "0.5", "--busiest-key", "20", "--blocked-keys", "40"];
    expect(await run(["plan", ...limits, "--defaults"], terminal)).toBe(0);
    expect(JSON.parse(lines.out.join("")).limited).toEqual({
      ...{ share: 1, busiestKeyShare: 0.2, places: 3, startsPerSecond: 0.5, blockedKeys: 40 },
    });
    expect(await run(["plan", ...limits], terminal)).toBe(0);
    expect(lines.out.join("")).toMatch(/looks at blocked keys \(fixed\) +\$1\.2/);
  });

  test("the command prints each price and limit with its source", async () => {
    const { lines, terminal } = kept();
    expect(await run(["plan", "--figures"], terminal)).toBe(0);
    const rows = lines.out.join("").split("\n");
    const figures = [...Object.entries(prices), ...Object.entries(limits)];
    for (const [name, { value, source }] of figures) {
      const row = rows.find((line) => line.startsWith(`${name} `) && line.trimEnd().endsWith(source));
      expect(row?.split(/ +/)[1], name).toBe(String(value));
    }
  });

  test.each([
    [["--hours", "x"], "--hours x: expected a number"],
    [["--rate", "5,many"], "--rate many: expected a number"],
    [["--polls", "-1"], "pollsPerTask: "],
    [["--waits", "-1"], "waits.perTask: "],
    [["--blocked-keys", "-1"], "limited.blockedKeys: "],
    [["--wait-seconds", "21"], "waits.seconds: "],
    [["missing.json"], "missing.json"],
  ])("%j is a misuse that one line explains", async (args, message) => {
    const { lines, terminal } = kept();
    expect(await run(["plan", ...args], terminal)).toBe(2);
    expect(lines.note).toHaveLength(1);
    expect(lines.note[0]).toContain(message);
  });
});

test.each([
  [0, "0 s"],
  [0.0234, "0.023 s"],
  [42.4, "42 s"],
  [720, "12 min"],
  [9_000, "2.5 h"],
])("%f seconds read %s", (seconds, words) => {
  expect(duration(seconds)).toBe(words);
});

test("moments and money read as people write them", () => {
  expect(clockTime(27_000)).toBe("07:30");
  expect(clockTime(100_001)).toBe("27:46:41");
  expect(dollars(3.456)).toBe("$3.46");
  expect(dollars(12_345.6)).toBe("$12,346");
});
