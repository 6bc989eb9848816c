import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App, Stack } from "aws-cdk-lib";
import { CfnTopic } from "aws-cdk-lib/aws-sns";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { loadTasks } from "../../../lib/load-tasks.ts";
import { acceptedTypes } from "../../../src/core/task/task.ts";
import { toEnv } from "../../../src/settings/config.ts";
import { taskTypes } from "../../support/own-types.ts";
import { projectOf, taskText } from "../../support/project.ts";
import { type Mistake, ten } from "../doctor/mistakes.ts";
import { synthesized } from "../doctor/synthesis.ts";
import { programOf, type Ran, StubApi } from "./stub-api.ts";

const { bare } = programOf({ doctor: () => import("../../../src/tools/cli/doctor-commands.ts") });

afterEach(() => vi.unstubAllEnvs());

/** Runs `offload doctor`. */
const doctor = (...args: string[]) => bare(["doctor", ...args]);

/** The task types of the app that ships. */
const tasks = acceptedTypes(await taskTypes(), false);

const planted = (check: string): Mistake => ten.find((one) => one.check === check) ?? expect.fail(check);

/** One mistake of each severity but `low`, of which the app has one by itself: nobody hears of its alarms. */
const mistakes = ["tier-capacity", "encryption", "log-retention"].map(planted);

/** What several command lines give for an app with these mistakes. */
const onMistakes = (lines: readonly string[][]): Promise<Ran[]> =>
  synthesized(
    {
      own: [...tasks],
      plant: (sketch) => {
        for (const { plant } of mistakes) plant?.(sketch);
      },
    },
    async ({ folder }) => {
      const ran: Ran[] = [];
      for (const line of lines) ran.push(await doctor("--templates", folder, ...line));
      return ran;
    },
  );

test("--help lists the exit codes, and ends with exit code 0", async () => {
  const { code, out } = await doctor("--help");
  expect(code).toBe(0);
  expect(out).toMatch(/^Usage: offload doctor/);
  expect(out).toMatch(/Exit codes:\n +0 +no finding reaches the severity of --fail-on/);
  expect(out).toContain("10, 11, 12, 13");
  expect(out).toContain("\n  npx offload doctor");
});

describe("a wrong command line ends with exit code 2", () => {
  test.each<string[]>([
    ["--fail-on", "nonsense"],
    ["--skip", "nonsense"],
    ["--context", "nonsense"],
    ["--templates", "cdk.out", "-c", "stage=prod"],
    ["surplus"],
  ])("%s %s %s %s is refused", async (...args) => {
    expect(await doctor(...args)).toMatchObject({ code: 2, out: "" });
  });
});

describe("templates without a pipeline end with exit code 1, in one line", () => {
  test("a folder without an assembly is refused", async () => {
    const { code, notes } = await doctor("--templates", "docs");
    expect([code, notes]).toEqual([
      1,
      expect.stringMatching(/^offload: docs is not a cloud assembly: .*npm run synth.*\n$/),
    ]);
  });

  test("a broken assembly is refused", async () => {
    const folder = mkdtempSync(join(tmpdir(), "offload-doctor-test-"));
    try {
      writeFileSync(join(folder, "manifest.json"), "{");
      const { code, notes } = await doctor("--templates", folder);
      expect([code, notes]).toEqual([
        1,
        expect.stringMatching(/^offload: cannot read the cloud assembly .*doctor-test-.*: .+\n$/),
      ]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test("an assembly without a pipeline is refused", async () => {
    const folder = mkdtempSync(join(tmpdir(), "offload-doctor-test-"));
    try {
      const app = new App({ outdir: folder, builtinCloudFormationValidation: false });
      new CfnTopic(new Stack(app, "Other"), "Topic");
      app.synth();
      expect(await doctor("--templates", folder)).toMatchObject({
        code: 1,
        out: "",
        notes: "offload: these stacks contain no Offload pipeline\n",
      });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe("a task file with wrong options for children ends with exit code 1, and is named with the reason", () => {
  test.each([
    [
      "children: { threshold: 1.5 }",
      "children.threshold must be a number from 0 to 1, or a function that is not async, got 1.5",
    ],
    ["aggregate: () => null", "aggregate needs the option children, such as {}"],
  ])("%s", async (option, reason) => {
    const folder = mkdtempSync(join(tmpdir(), "offload-doctor-test-"));
    const from = (module: string) => JSON.stringify(import.meta.resolve(module));
    const text = `import { defineTask } from ${from("../../../src/core/task/task.ts")};
import * as z from ${from("zod")};
export default defineTask({ name: "report.all", input: z.null(), ${option}, handler: () => null });`;
    writeFileSync(join(folder, "report.all.ts"), text);
    vi.stubEnv("OFFLOAD_TASKS", folder);
    try {
      const ran = await synthesized({ own: [...tasks] }, (app) => doctor("--templates", app.folder));
      expect(ran).toMatchObject({ code: 1, out: "" });
      expect(ran.notes).toMatch(/report\.all\.ts could not be imported at \S*report\.all\.ts:3:\d+: TypeError: /);
      expect(ran.notes).toContain(`defineTask("report.all"): ${reason} (`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

const skipWorst = ["--skip", "tier-capacity"];
const skipHigh = [...skipWorst, "--skip", "encryption"];
const skipMedium = [...skipHigh, "--skip", "log-retention"];
const lines: [line: string[], code: number][] = [
  [[], 13],
  [["--fail-on", "critical"], 13],
  [["--fail-on", "never"], 0],
  [skipWorst, 12],
  [[...skipWorst, "--fail-on", "critical"], 0],
  [skipHigh, 0],
  [[...skipHigh, "--fail-on", "medium"], 11],
  [[...skipMedium, "--fail-on", "medium"], 0],
  [[...skipMedium, "--fail-on", "low"], 10],
  [["--json"], 13],
];
const ran = await onMistakes(lines.map(([line]) => line));

describe("an app with a mistake of each severity", () => {
  test.each(lines.map(([line, code], index) => [line.join(" "), code, index] as const))(
    "the options %j end with exit code %d",
    (_, code, index) => {
      expect(ran[index]?.code).toBe(code);
    },
  );

  test("the report lists findings by severity, each with its fix, and ends with what passed", () => {
    const [{ out, notes } = expect.fail("nothing ran")] = ran;
    const headings = out.split("\n").filter((line) => /^[A-Z]+$/.test(line));
    expect(headings).toEqual(["CRITICAL", "HIGH", "MEDIUM", "LOW", "PASSED"]);
    expect(out).toMatch(
      /CRITICAL\n {2}Offload\/Data\/LowQueue {2}\[tier-capacity\]\n {4}No worker takes messages from it.*\n {4}Fix: Enable the event source\.\n/,
    );
    expect(out).toMatch(/\n1 critical, 1 high, 1 medium, \d low; \d+ checks passed\n$/);
    expect(notes).toBe("The deployed resources were not checked: use --live, with AWS credentials.\n");
  });

  test("skipped checks are listed", () => {
    expect(ran[3]?.out).toMatch(/\nSKIPPED\n.*\[tier-capacity\]\n/);
  });

  test("--json prints the whole report, and nothing else", () => {
    const report = JSON.parse(ran.at(-1)?.out ?? "");
    expect(report.counts).toMatchObject({ critical: 1, high: 1, medium: 1 });
    expect(report.findings[0]).toEqual({
      check: "tier-capacity",
      severity: "critical",
      subject: "Offload/Data/LowQueue",
      found: expect.stringContaining("disabled"),
      fix: "Enable the event source.",
      at: { stack: "Offload-dev-data", logicalId: expect.stringMatching(/^LowQueue/) },
    });
    expect(report.passed).toContainEqual({ check: "visibility", title: expect.any(String) });
    expect(report.leftOut).toContainEqual({ check: "live-queues", title: expect.any(String), why: "needs --live" });
    expect(report.notes).toEqual([expect.stringContaining("--live")]);
    expect(ran.at(-1)?.notes).toBe("");
  });
});

describe("the app that ships", () => {
  test("the command synthesizes the app itself, and finds nothing above low", async () => {
    // The CDK's own rules, which take as long as all the rest, are checked in test/lib/checks.test.ts.
    vi.stubEnv("CDK_VALIDATION", "false");
    const { code, out } = await doctor("--fail-on", "medium", "--json");
    const report = JSON.parse(out);
    expect(report.findings.filter(({ severity }: { severity: string }) => severity !== "low")).toEqual([]);
    expect(report.notes).toEqual(["The deployed resources were not checked: use --live, with AWS credentials."]);
    expect(report.passed.length).toBeGreaterThan(20);
    expect(code).toBe(0);
  });

  test("one line says why the app does not synthesize", async () => {
    const { code, notes } = await doctor("--context", "stage=Not-A-Stage");
    expect([code, notes]).toEqual([
      1,
      expect.stringMatching(/^offload: the app does not synthesize: stage must be 1 to 20 .*\n$/),
    ]);
  });
});

describe("--live", () => {
  const env = (values: Record<string, string | undefined>) => {
    for (const [name, value] of Object.entries(values)) vi.stubEnv(name, value);
  };
  const nobody = {
    AWS_ACCESS_KEY_ID: undefined,
    AWS_SECRET_ACCESS_KEY: undefined,
    AWS_SESSION_TOKEN: undefined,
    AWS_PROFILE: undefined,
    AWS_CONFIG_FILE: "/dev/null",
    AWS_SHARED_CREDENTIALS_FILE: "/dev/null",
    AWS_EC2_METADATA_DISABLED: "true",
    AWS_REGION: "us-east-1",
  };

  /** The fire function, by whose settings the queues are found. */
  const fireOf = (url: string) => {
    const urls = { critical: `${url}/1`, high: `${url}/2`, normal: `${url}/3`, low: `${url}/4` };
    return { Environment: { Variables: toEnv({ table: "offload", queueUrls: urls, dlqUrls: urls }) } };
  };

  const onApp = (...args: string[]) =>
    synthesized({ own: [...tasks] }, ({ folder }) => doctor("--templates", folder, ...args));

  test("without credentials, the templates are reviewed all the same", async () => {
    env(nobody);
    const { code, out, notes } = await onApp("--live");
    expect(code).toBe(1);
    expect(out).toContain("checks passed");
    expect(notes).toMatch(/^The deployed resources were not checked: .*credentials.*\n$/);
  });

  test("problems of the live account are findings", async () => {
    await using api = await StubApi.start(({ path }) => {
      if (path.includes("/account-settings")) return { json: { AccountLimit: { ConcurrentExecutions: 10 } } };
      if (path.endsWith("/Offload-dev-fire/configuration")) return { json: fireOf(api.url) };
      return { json: {} };
    });
    env({ ...nobody, AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b", AWS_ENDPOINT_URL: api.url });
    const { code, out } = await onApp("--live", "--json");
    const report = JSON.parse(out);
    expect(code).toBe(13);
    expect(report.leftOut).toMatchObject([{ check: "failures", why: "needs --failures" }]);
    expect(report.notes).toEqual([]);
    const found = report.findings.map(
      ({ check, subject }: { check: string; subject: string }) => `${check} ${subject}`,
    );
    expect(found).toContain("live-capacity Offload-dev-service tier low");
    expect(found).toContain("account-concurrency account");
  });
});

describe("--live before the first deployment with containers", () => {
  const roleOf = "AWSServiceRoleForECS";
  const denied =
    "<ErrorResponse><Error><Code>AccessDenied</Code><Message>not authorized: iam:GetRole</Message></Error></ErrorResponse>";
  const none = "<ErrorResponse><Error><Code>NoSuchEntity</Code></Error></ErrorResponse>";

  test("a role that is missing is a finding, and one that may not be read is a note", async () => {
    await using api = await StubApi.start(({ path, query }) => {
      if (path.includes("/account-settings")) return { json: { AccountLimit: { ConcurrentExecutions: 1000 } } };
      if (query.Action !== "GetRole")
        return { status: 404, json: {}, headers: { "x-amzn-errortype": "ResourceNotFoundException" } };
      return query.RoleName === roleOf ? { status: 404, text: none } : { status: 403, text: denied };
    });
    vi.stubEnv("AWS_ACCESS_KEY_ID", "a");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "b");
    vi.stubEnv("AWS_REGION", "us-east-1");
    vi.stubEnv("AWS_ENDPOINT_URL", api.url);
    const { code, out } = await synthesized({ own: [...tasks], props: { containers: {} } }, ({ folder }) =>
      doctor("--templates", folder, "--live", "--json"),
    );
    const { findings, notes } = JSON.parse(out);
    expect(code).toBe(12);
    expect(findings).toContainEqual(
      expect.objectContaining({ check: "live-roles", found: expect.stringContaining(roleOf) }),
    );
    expect(findings.filter(({ check }: { check: string }) => check === "live-roles")).toHaveLength(1);
    expect(notes.at(-1)).toBe(
      "The role AWSServiceRoleForApplicationAutoScaling_ECSService could not be looked for: not authorized: iam:GetRole",
    );
  });
});

describe("--failures", () => {
  test("checks only the dead letters, of any server, and needs no app", async () => {
    const letter = {
      type: "mail.send",
      error: "Cannot read properties of undefined (reading 'to')",
      error_type: "TypeError",
      error_kind: "transient",
      stack: "TypeError: no\n    at handler (tasks/mail.send.ts:18:40)",
    };
    await using api = await StubApi.start(() => ({ json: { dead_letters: [letter, letter], next_cursor: null } }));
    const { code, out, notes } = await doctor("--failures", "--url", api.url, "--key", "k");
    expect(code).toBe(12);
    expect(out).toContain("2 dead letters of kind transient with TypeError at tasks/mail.send.ts:18:40");
    expect(notes).toBe("Checked 2 dead letters, and nothing else.\n");
    expect(api.seen).toMatchObject([{ method: "GET" }]);
  });
});

test("a constant key of task.once is a finding with its file and line, also in code that a task file imports", async () => {
  const folder = mkdtempSync(join(tmpdir(), "offload-doctor-test-"));
  const from = (module: string) => JSON.stringify(import.meta.resolve(module));
  const type = `import { defineTask } from ${from("../../../src/core/task/task.ts")};
import * as z from ${from("zod")};
import { send } from ${JSON.stringify(join(folder, "tasks/lib/send.ts"))};
export default defineTask({
  name: "mail.send",
  description: "Sends a mail.",
  input: z.strictObject({ to: z.email() }),
  handler: async ({ to }, task) => {
    await task.once("mail", () => to);
    await task.once(\`mail/\${to}\`, () => to);
    await send(task);
  },
});`;
  mkdirSync(join(folder, "tasks/lib"), { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "tasks/mail.send.ts"), type);
  writeFileSync(join(folder, "tasks/lib/send.ts"), 'export const send = (task) =>\n  task.once("tips", () => 1);\n');
  vi.stubEnv("OFFLOAD_TASKS", join(folder, "tasks"));
  try {
    const { out } = await synthesized({ own: [...tasks] }, (app) => doctor("--templates", app.folder, "--json"));
    const found = JSON.parse(out).findings.filter(({ check }: { check: string }) => check === "constant-once-key");
    expect(found).toEqual([
      {
        check: "constant-once-key",
        severity: "medium",
        subject: "tasks/lib/send.ts:2",
        found: expect.stringContaining('task.once("tips", ...) has the same key in each task'),
        fix: expect.stringContaining('task.step("mail", ...)'),
      },
      expect.objectContaining({ subject: "tasks/mail.send.ts:9", severity: "medium" }),
    ]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test.each([[true], [false]])(
  "a synth finds it, too, when the worker is built (%j) as when only its sources are read",
  (isStarted) => {
    const root = projectOf({
      "package.json": '{ "type": "module" }',
      "tasks/mail.send.ts": taskText("mail.send", "{}", '\nexport const send = (task) => task.once("mail", () => 1);'),
    });
    onTestFinished(() => rmSync(root, { recursive: true, force: true }));
    const files = { tasks: join(root, "tasks"), copies: {} };
    const { findings } = loadTasks({ files, probes: false, variables: {} }, isStarted);
    expect(findings["constant-once-key"]).toMatchObject([
      { subject: expect.stringMatching(/^tasks\/mail\.send\.ts:\d$/) },
    ]);
  },
);
