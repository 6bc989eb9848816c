import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { allChecks } from "../../../../src/tools/cli/verify/all-checks.ts";
import { type Check, groups, NotPossible } from "../../../../src/tools/cli/verify/check.ts";
import { estimateOf, mostMinutesLong, mostTasks } from "../../../../src/tools/cli/verify/estimate.ts";
import { runChecks, StoppableClock } from "../../../../src/tools/cli/verify/run-checks.ts";
import { type Run, reportOf } from "../../../../src/tools/cli/verify/verify-report.ts";
import { programOf, StubApi } from "../stub-api.ts";
import { FakeDeployment } from "./fake-deployment.ts";

const { bare, offload } = programOf({ verify: () => import("../../../../src/tools/cli/verify.ts") });

const never = new Promise<never>(() => {});

const checkOf = (name: string, run: Check["run"], more: Partial<Check> = {}): Check => ({
  ...{ group: "delays", name, expected: "it", needs: [], most: { tasks: 0, seconds: 60 }, run },
  ...more,
});

async function outcomesOf(checks: readonly Check[], faults: ConstructorParameters<typeof FakeDeployment>[0] = {}) {
  const tools = await new FakeDeployment(faults).tools();
  const { outcomes } = await runChecks(checks, tools, { stopped: never }, () => {});
  return outcomes.map(({ name, verdict, seen }) => [name, verdict, seen]);
}

describe("the run of checks", () => {
  test("each check has a verdict, in the order of the checks", async () => {
    const found = await outcomesOf([
      checkOf("slow", async ({ clock }) => clock.pause(5_000).then(() => "late")),
      checkOf("wrong", () => Promise.reject(new Error("another"))),
      checkOf("lacking", () => Promise.reject(new NotPossible("no such thing"))),
      checkOf("denied", () => Promise.reject(Object.assign(new Error("not you"), { name: "AccessDeniedException" }))),
      checkOf("unknown", () => Promise.reject(new Error("Unknown action: DescribeQueryDefinitions"))),
      checkOf("endless", () => never),
    ]);
    expect(found).toEqual([
      ["slow", "ok", "late"],
      ["wrong", "differs", "another"],
      ["lacking", "not possible here", "no such thing"],
      ["denied", "not possible here", "not you"],
      ["unknown", "not possible here", "Unknown action: DescribeQueryDefinitions"],
      ["endless", "differs", "not ended after 60 s"],
    ]);
  });

  test("waits come first and alone, logs last", async () => {
    const order: string[] = [];
    const noting = (name: string, group: Check["group"]) =>
      checkOf(
        name,
        async ({ clock }) => {
          order.push(`${name} begins`);
          await clock.pause(10);
          order.push(`${name} ends`);
          return "";
        },
        { group },
      );
    await outcomesOf([noting("l", "logs"), noting("d", "delays"), noting("f", "files"), noting("w", "waits")]);
    const steps = ["w begins", "w ends", "d begins", "f begins", "d ends", "f ends", "l begins", "l ends"];
    expect(order).toEqual(steps);
  });

  test.for<[Check["needs"][number], object, RegExp]>([
    ["probe.crash", { types: ["mail.send"] }, /--add-probes/],
    ["sample", { types: ["mail.send"] }, /--type/],
    ["admin", { role: "operator" }, /role admin/],
    ["account", {}, /--stack/],
    ["long", {}, /--long/],
  ])("a check that needs %s is left out where that is missing, with the reason", async ([need, faults, reason]) => {
    const [[, verdict, seen] = []] = await outcomesOf([checkOf("c", async () => "", { needs: [need] })], faults);
    expect(verdict).toBe("not possible here");
    expect(seen).toMatch(reason);
  });

  test("checks that are stopped clean up, and none begins after it", async () => {
    const clock = new StoppableClock();
    const tools = { ...(await new FakeDeployment().tools()), clock };
    const done: string[] = [];
    const waiting = checkOf("waiting", async () => {
      try {
        await clock.pause(60_000);
      } finally {
        done.push("cleaned up");
      }
      return "";
    });
    const later = checkOf("later", async () => String(done.push("began")), { group: "logs" });
    setTimeout(() => clock.stop("stopped by Ctrl-C"), 20);
    const { outcomes, allEnded } = await runChecks([waiting, later], tools, clock, () => {});
    await allEnded;
    expect(outcomes.map(({ verdict, seen }) => [verdict, seen])).toEqual([
      ["not possible here", "stopped by Ctrl-C"],
      ["not possible here", "stopped by Ctrl-C"],
    ]);
    expect(done).toEqual(["cleaned up"]);
  });
});

test("all checks together stay below their bounds of tasks, price and time", () => {
  const { tasks, dollars } = estimateOf(allChecks);
  expect(tasks).toBeLessThan(mostTasks);
  expect(dollars).toBeLessThan(1);
  for (const { name, needs, most } of allChecks) {
    expect(most.seconds, name).toBeLessThanOrEqual(needs.includes("long") ? mostMinutesLong * 60 : 1_440);
  }
  expect(new Set(allChecks.map(({ name }) => name)).size).toBe(allChecks.length);
});

test("the pages name the groups, and what the command says first", async () => {
  const [page, firstHour] = ["real-accounts", "first-hour"].map((name) => readFileSync(`docs/${name}.md`, "utf8"));
  for (const group of groups) expect(page).toContain(`\n| \`${group}\` |`);
  const { notes } = await bare(["verify", "--url", "https://abc123...", "--key", "k"], false);
  expect(firstHour).toContain(notes.split("\n")[0]);
});

describe("the report", () => {
  const run: Run = {
    ...{ date: "2027-01-01T00:00:00.000Z", stage: "dev", version: "1.2.3", region: "eu-central-1", minutes: 20 },
    ...{ tasks: 90, price: "$0.03", options: ["--stack"], left: undefined, place: undefined, isEmulated: false },
    outcomes: [
      {
        ...{ group: "delays", name: "a | b", expected: "x", verdict: "differs" },
        seen: "arn:aws:sqs:eu:111122223333:q\nofl_abcdefgh_0123456789012345678901 https://abcdefghij.execute-api.eu",
      },
    ],
  };
  test("it has no secret, no account and no API's host", () => {
    const text = reportOf(run);
    expect(text).toContain(
      "| a \\| b | x | arn:aws:sqs:eu:<account>:q ofl_abcdefgh_… https://<api>.execute-api.eu | differs |",
    );
    expect(text).toContain("0 ok, 1 differ, 0 not possible here");
  });
  test("asked for, it names the place, and still has no secret", () => {
    const text = reportOf({ ...run, place: "https://abcdefghij.execute-api.eu, account 111122223333" });
    expect(text).toContain("| place | https://abcdefghij.execute-api.eu, account 111122223333 |");
    expect(text).not.toContain("0123456789012345678901");
  });
});

describe("the command", () => {
  test("it says what it will do, and does nothing without a yes", async () => {
    await using api = await StubApi.start(() => ({ json: {} }));
    const { code, notes, questions } = await offload(api.url, ["verify"], false);
    expect({ code, questions, seen: api.seen }).toEqual({ code: 1, questions: ["Begin?"], seen: [] });
    expect(notes).toMatch(/checks, at most 25 minutes, at most \d+ tasks, at most \$0\.\d\d\.\n/);
    expect(notes).toContain("Two attempts end their worker");
  });
  test.for([["verify"], ["verify", "--only", "all"], ["verify", "--input", "{}"]])("%j is a misuse", async (args) => {
    expect(await bare(args)).toMatchObject({ code: 2, out: "" });
  });
  test("--add-probes copies the probe types, once", async () => {
    const folder = mkdtempSync(join(tmpdir(), "verify-probes-"));
    const before = process.env.OFFLOAD_TASKS;
    process.env.OFFLOAD_TASKS = folder;
    try {
      const { out } = await bare(["verify", "--add-probes"]);
      expect(out.trim().split("\n")).toHaveLength(5);
      expect(readdirSync(folder).toSorted()).toEqual(
        ["crash", "echo", "fail", "file", "long"].map((name) => `probe.${name}.ts`),
      );
      expect(await bare(["verify", "--add-probes"])).toMatchObject({ code: 0, out: "" });
    } finally {
      if (before === undefined) delete process.env.OFFLOAD_TASKS;
      else process.env.OFFLOAD_TASKS = before;
      rmSync(folder, { recursive: true });
    }
  });
});
