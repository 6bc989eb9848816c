import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { errorKinds } from "../../../src/core/model/errors.ts";
import { defineTask, type TaskType } from "../../../src/core/task/task.ts";
import { packageVersion } from "../../../src/installed/installation.ts";
import { toEnv } from "../../../src/settings/config.ts";
import { releases } from "../../../src/settings/releases.ts";
import { Deployment, type Template } from "../../../src/tools/doctor/deployment.ts";
import { type Failure, type Finding, isAtLeast, type Subject, severities } from "../../../src/tools/doctor/finding.ts";
import type { LiveAccount } from "../../../src/tools/doctor/live.ts";
import { releaseFindings } from "../../../src/tools/doctor/live-checks.ts";
import { checks, review } from "../../../src/tools/doctor/review.ts";
import { findingsOfCode } from "../../../src/tools/doctor/reviewed-type.ts";
import { mail, synthesized } from "./synthesis.ts";

const stackOf = (template: Template): Deployment =>
  new Deployment([
    {
      name: "service",
      environment: "aws://unknown-account/unknown-region",
      terminationProtection: true,
      template: { Description: "Offload dev: service", ...template },
    },
  ]);

/** Findings of one check. */
function findingsOf(check: string, subject: Partial<Subject>): readonly Finding[] {
  const { find } = checks.find(({ id }) => id === check) ?? expect.fail(`there is no check ${check}`);
  const { types = [] } = subject;
  return find({ deployment: stackOf({}), types, findings: findingsOfCode(types as readonly TaskType[]), ...subject });
}

/** Findings of one check, without their fixes. */
const found = (check: string, subject: Partial<Subject>): [severity: string, subject: string, found: string][] =>
  findingsOf(check, subject).map((one) => [one.severity, one.subject, one.found]);

/** Pipelines without mistakes: a usual one, and one of an account that has more concurrency than others. */
const faultless: Subject = await synthesized({}, (subject) => subject);
const large: Subject = await synthesized(
  { props: { accountConcurrency: 5000, tiers: { critical: { maxConcurrency: 1000 } } } },
  (subject) => subject,
);

const small: Subject = await synthesized({ props: { profile: "small" } }, (subject) => subject);

const common = { name: "a.task", handler: () => null };
const withInput = (input: z.ZodType): TaskType => defineTask({ ...common, description: "Does it.", input });

describe("findings of severity low", () => {
  test("hosts that webhooks may reach without TLS are found where data is kept, and not in dev", async () => {
    const callbackHosts = ["receiver.internal:8443", "10.0.0.7:80"];
    const foundIn = (props: object) =>
      synthesized({ props: { callbackHosts, ...props } }, (subject) => found("callback-hosts", subject));
    expect(await foundIn({ stage: "prod", alarmEmail: "team@example.com" })).toEqual([
      [
        "low",
        "Offload/Service/Notify/Function",
        "Each tenant may send webhooks to receiver.internal:8443, 10.0.0.7:80 without TLS, and whatever its addresses are.",
      ],
    ]);
    expect(await foundIn({})).toEqual([]);
    expect(found("callback-hosts", faultless)).toEqual([]);
  });

  test("limits that one item cannot count, and that one bad task reaches are found", () => {
    const input = z.strictObject({});
    const type = (more: object) => defineTask({ ...common, input, ...more });
    const rated = (limit: number, perSeconds: number) =>
      found("start-rate", { types: [type({ rateLimit: { limit, perSeconds } })] });
    expect(rated(1_000, 2)).toEqual([]);
    expect(rated(1_001, 2)).toEqual([["medium", "task a.task", expect.stringContaining("start 501 tasks a second")]]);
    const broken = (failures: number) =>
      found("breaker-retries", { types: [type({ maxAttempts: 4, breaker: { failures, coolDownSeconds: 60 } })] });
    expect(broken(5)).toEqual([]);
    expect(broken(4)).toEqual([["medium", "task a.task", expect.stringContaining("one task has 4 attempts")]]);
    for (const check of ["start-rate", "breaker-retries"]) expect(found(check, faultless)).toEqual([]);
  });

  test("a type that spawns children is found in the tier of types that may be its children", () => {
    const input = z.strictObject({});
    const parent = defineTask({ ...common, name: "report.all", input, children: {} });
    const child = (name: string, priority?: "low") =>
      defineTask({ ...common, name, input, ...(priority && { priority }) });
    const [finding, ...others] = findingsOf("family-tier", {
      types: [parent, child("a"), child("b"), child("c", "low")],
    });
    expect(finding).toMatchObject({
      severity: "low",
      subject: "task report.all",
      found: expect.stringContaining("its tier, normal, is also that of a, b. If these are its children,"),
    });
    expect(others).toEqual([]);
    const many = ["a", "b", "c", "d", "e", "f", "g"].map((name) => child(name));
    expect(findingsOf("family-tier", { types: [parent, ...many] })[0]?.found).toContain("of a, b, c, d, e and 2 more.");
    expect(findingsOf("family-tier", { types: [parent, child("c", "low")] })).toEqual([]);
    expect(findingsOf("family-tier", { types: many })).toEqual([]);
  });

  test("an input with parts that may be anything is found", () => {
    const input = z.strictObject({ meta: z.unknown(), more: z.looseObject({}) });
    expect(found("input-schema", { types: [withInput(input)] })).toEqual([
      ["low", "task a.task", "Its input accepts any value at meta, more."],
    ]);
  });

  test("an input without a largest size is found, and only its first parts are named", () => {
    const names = ["a", "b", "c", "d", "e", "f", "g"];
    const input = z.strictObject(Object.fromEntries(names.map((name) => [name, z.string()])));
    expect(found("payload-size", { types: [withInput(input)] })).toEqual([
      ["low", "task a.task", `No maximum length is set for a, b, c, d, e and 2 more; an input has at most 1024 KiB.`],
    ]);
  });

  test("files that may be too large for the type's time-out are found", () => {
    const typeWith = (files: Record<string, { maxBytes?: number }>, timeoutSeconds = 60) =>
      defineTask({ ...common, description: "Does it.", input: z.strictObject({}), files, timeoutSeconds });
    const filesFound = (...given: Parameters<typeof typeWith>) => found("file-size", { types: [typeWith(...given)] });
    expect(filesFound({ video: {} })).toEqual([
      [
        "low",
        "task a.task",
        "Its files may have 5369 MB: reading them takes 108 s at an assumed 50 MB/s, and its time-out is 60 s.",
      ],
    ]);
    expect(filesFound({ video: {} }, 108)).toEqual([]);
    expect(filesFound({ a: { maxBytes: 3_000_000_000 } })).toEqual([]);
    expect(filesFound({ a: { maxBytes: 3_000_000_000 }, b: { maxBytes: 1 } })).toHaveLength(1);
    expect(filesFound({})).toEqual([]);
  });

  test("rules in code, which only the worker can check, are found with their place", () => {
    const even = z.number().refine((number) => number % 2 === 0);
    const input = z.strictObject({
      lines: z.array(even).max(3),
      kind: z.custom<string>(),
      name: z.string().trim().max(3),
    });
    expect(found("refinements", { types: [withInput(input)] })).toEqual([
      [
        "low",
        "task a.task",
        expect.stringMatching(/^Only the worker checks the refinement of input\.lines\[\], input\.kind: .* gets 202/),
      ],
    ]);
    expect(found("refinements", { types: [withInput(input.pick({ name: true }))] })).toEqual([]);
    expect(found("refinements", { types: [withInput(input.superRefine(() => {}))] })[0]?.[2]).toContain("of input, ");
  });

  test("a type at a later version that no step leads to is found", () => {
    const options = { ...common, description: "Does it.", input: z.strictObject({}), version: 2 };
    const types = [defineTask(options), defineTask({ ...options, name: "b.task", upcast: { 1: () => ({}) } })];
    expect(found("input-steps", { types })).toEqual([["low", "task a.task", expect.stringContaining("version 2")]]);
  });

  test("a type without a description is found", () => {
    const types = [defineTask({ ...common, description: " ", input: z.strictObject({}) })];
    expect(found("description", { types })).toEqual([
      ["low", "task a.task", expect.stringContaining("no description")],
    ]);
  });

  test("encryption that is left to AWS, and a topic without a subscriber, are found", () => {
    const deployment = stackOf({
      Resources: {
        Queue: { Type: "AWS::SQS::Queue" },
        Topic: { Type: "AWS::SNS::Topic" },
        Alarm: { Type: "AWS::CloudWatch::Alarm", Properties: { AlarmActions: [{ Ref: "Topic" }] } },
      },
    });
    expect(found("encryption", { deployment })).toEqual([["low", "service.Queue", expect.any(String)]]);
    expect(found("alarm-subscriber", { deployment })).toEqual([["low", "service.Topic", expect.any(String)]]);
  });
});

describe("alarms", () => {
  const alarm = (properties: object) => ({ Type: "AWS::CloudWatch::Alarm", Properties: properties });
  const composite = (rule: unknown, actions: string[]) => ({
    Type: "AWS::CloudWatch::CompositeAlarm",
    Properties: { AlarmRule: rule, AlarmActions: actions },
  });
  const rule = { "Fn::Join": ["", ['ALARM("', { "Fn::GetAtt": ["Part", "Arn"] }, '")']] };

  test("a part of an alarm that has an action needs none of its own", () => {
    const deployment = stackOf({ Resources: { Part: alarm({}), Whole: composite(rule, ["arn:aws:sns:::topic"]) } });
    expect(found("alarm-action", { deployment })).toEqual([]);
  });

  test("a part of an alarm without an action is found, and so is the whole", () => {
    const deployment = stackOf({ Resources: { Part: alarm({}), Whole: composite(rule, []) } });
    expect(found("alarm-action", { deployment }).map(([, subject]) => subject)).toEqual([
      "service.Part",
      "service.Whole",
    ]);
  });

  test("an alarm whose actions are turned off is found", () => {
    const off = alarm({ AlarmActions: ["arn:aws:sns:::topic"], ActionsEnabled: false });
    expect(found("alarm-action", { deployment: stackOf({ Resources: { Off: off } }) })).toHaveLength(1);
  });

  test("an alarm may watch a DLQ within an expression", () => {
    const resources = {
      Queue: { Type: "AWS::SQS::Queue", Properties: { RedrivePolicy: { deadLetterTargetArn: { Ref: "Dlq" } } } },
      Dlq: { Type: "AWS::SQS::Queue" },
    };
    const metric = {
      MetricName: "ApproximateNumberOfMessagesVisible",
      Dimensions: [{ Name: "QueueName", Value: { "Fn::GetAtt": ["Dlq", "QueueName"] } }],
    };
    const watching = alarm({ Metrics: [{ Expression: "m1" }, { MetricStat: { Metric: metric } }] });
    expect(found("dlq-alarm", { deployment: stackOf({ Resources: resources }) })).toHaveLength(1);
    expect(found("dlq-alarm", { deployment: stackOf({ Resources: { ...resources, watching } }) })).toEqual([]);
  });
});

describe("permissions", () => {
  const allowing = (statement: object) =>
    stackOf({
      Resources: {
        Policy: {
          Type: "AWS::IAM::Policy",
          Properties: { PolicyDocument: { Statement: [{ Effect: "Allow", ...statement }] } },
        },
      },
    });

  test.each([
    { Action: "sqs:*", Resource: "arn:aws:sqs:eu-west-1:123456789012:a" },
    { Action: "*", Resource: "arn:aws:sqs:eu-west-1:123456789012:a" },
    { Action: ["sqs:SendMessage"], Resource: "*" },
    { Action: ["s3:GetObject"], Resource: ["arn:aws:s3:::a/*", "arn:aws:s3:::*"] },
    { NotAction: "iam:*", Resource: "arn:aws:sqs:eu-west-1:123456789012:a" },
  ])("%j is too wide", (statement) => {
    expect(found("iam-wildcard", { deployment: allowing(statement) })).toHaveLength(1);
  });

  test.each([
    { Action: ["xray:PutTraceSegments", "xray:PutTelemetryRecords"], Resource: "*" },
    { Action: ["cloudwatch:GetMetricData", "cloudwatch:DescribeAlarms"], Resource: "*" },
    { Action: "ecr:GetAuthorizationToken", Resource: "*" },
    { Action: "s3:GetObject", Resource: "arn:aws:s3:::a/*" },
    { Action: "scheduler:CreateSchedule", Resource: "arn:aws:scheduler:eu-west-1:123456789012:schedule/group/*" },
    { Effect: "Deny", Action: "*", Resource: "*" },
  ])("%j is not too wide", (statement) => {
    expect(found("iam-wildcard", { deployment: allowing(statement) })).toEqual([]);
  });
});

describe("tokens of the issuer", () => {
  const mapping = (roles: unknown) =>
    stackOf({
      Resources: {
        Authorizer: {
          Type: "AWS::Lambda::Function",
          Properties: { Environment: { Variables: { OFFLOAD_JWT_ROLES: roles } } },
        },
      },
    });

  test("values that make a token an admin's are listed", () => {
    const roles = JSON.stringify({ staff: "operator", 'the "admins"': "admin", root: "admin" });
    const text = 'A token of the issuer with the role "the \\"admins\\"" or "root" may access all tenants.';
    expect(found("admin-tokens", { deployment: mapping(roles) })).toEqual([["low", "service.Authorizer", text]]);
  });

  test.each([undefined, "", "{}", '{"admin":"operator"}', { Ref: "Roles" }])(
    "a mapping without admin is fine: %j",
    (roles) => {
      expect(found("admin-tokens", { deployment: mapping(roles) })).toEqual([]);
    },
  );
});

describe("the app's schedules", () => {
  test("a schedule whose type the workers do not know", () => {
    const deployment = stackOf({
      Metadata: { Offload: { types: [], schedules: { "report.nightly": "report.daily" }, accountConcurrency: 1000 } },
    });
    expect(found("schedule-type", { deployment })).toEqual([
      ["high", "schedule report.nightly", expect.stringContaining("submits report.daily")],
    ]);
  });

  test("a trigger whose type the workers do not know", () => {
    const triggers = { "upload.convert": "video.convert" };
    const deployment = stackOf({
      Metadata: { Offload: { types: [], schedules: {}, triggers, accountConcurrency: 1000 } },
    });
    expect(found("schedule-type", { deployment })).toEqual([
      ["high", "trigger upload.convert", expect.stringContaining("submits video.convert")],
    ]);
  });

  test("a schedule whose firings can be dropped is found", () => {
    const deployment = stackOf({
      Resources: { Nightly: { Type: "AWS::Scheduler::Schedule", Properties: { Target: { Arn: "arn:aws:lambda" } } } },
    });
    expect(found("schedule-dlq", { deployment })).toEqual([["high", "service.Nightly", expect.any(String)]]);
  });
});

test("an app may use all of a larger account's concurrency", () => {
  expect(found("account-concurrency", large)).toEqual([]);
});

test("a tier whose DLQ is in no stack is found", () => {
  const urls = { critical: "http://q", high: "http://q", normal: "http://q", low: "http://q" };
  const environment = { Variables: toEnv({ queueUrls: urls, dlqUrls: urls }) };
  const worker = { Type: "AWS::Lambda::Function", Properties: { Environment: environment } };
  const deployment = stackOf({ Resources: { Worker: worker } });
  expect(found("redrive-policy", { deployment }).map(([severity, subject]) => [severity, subject])).toEqual([
    ["critical", "service tier critical"],
    ["critical", "service tier high"],
    ["critical", "service tier normal"],
    ["critical", "service tier low"],
  ]);
  expect(found("tier-capacity", { deployment })).toHaveLength(4);
});

describe("dead letters", () => {
  const letter = (more: Partial<Failure>): Failure => ({
    type: "mail.send",
    error: "down",
    error_type: "ECONNREFUSED",
    error_kind: "unavailable",
    stack: null,
    ...more,
  });

  test("an error in the code is told apart from a failed connection, though both are transient", () => {
    const failures = [
      letter({
        error: "Cannot read properties of undefined (reading 'to')",
        error_type: "TypeError",
        error_kind: "transient",
        stack:
          "TypeError: Cannot read properties of undefined (reading 'to')\n    at handler (tasks/mail.send.ts:18:40)",
      }),
      letter({ error: "fetch failed (read ECONNRESET)", error_type: "ECONNRESET", error_kind: "transient" }),
    ];
    expect(found("failures", { failures })).toEqual([
      [
        "high",
        "task mail.send",
        "1 dead letter of kind transient with TypeError at tasks/mail.send.ts:18:40: " +
          "Cannot read properties of undefined (reading 'to')",
      ],
      ["medium", "task mail.send", "1 dead letter of kind transient with ECONNRESET: fetch failed (read ECONNRESET)"],
    ]);
    const [code, connection] = findingsOf("failures", { failures });
    expect(code?.fix).toBe(
      "This is an error in the code of the task type: fix it there, and deploy. " +
        "Then replay: `npx offload dlq replay --type mail.send --error-type TypeError`.",
    );
    expect(connection?.fix).toContain("The connection to the other service failed");
  });

  test("equal failures are one finding; each kind has its advice", () => {
    const failures = errorKinds.flatMap((kind) => [
      letter({ error_type: "Own", error_kind: kind }),
      letter({ error_type: "Own", error_kind: kind }),
    ]);
    const findings = findingsOf("failures", { failures });
    expect(findings).toHaveLength(errorKinds.length);
    expect(new Set(findings.map(({ fix }) => fix)).size).toBe(errorKinds.length);
    expect(findings[0]?.found).toContain("2 dead letters of kind");
    expect(found("failures", { failures: [] })).toEqual([]);
  });
});

describe("the live account", () => {
  const ready = { name: "worker", state: "Active", lastUpdate: "Successful" };
  const account = (live: Partial<LiveAccount>): LiveAccount => ({
    readAt: "2027-01-10T00:20:00.000Z",
    concurrency: 1000,
    functions: [],
    queues: [],
    reconciles: [],
    roles: [],
    releases: [],
    ...live,
  });

  test.each([
    [{ ...ready, state: "Failed", reason: "no role" }, "critical", "Lambda cannot run it (no role)."],
    [{ ...ready, lastUpdate: "Failed" }, "high", "Its latest update failed."],
    [{ ...ready, reservedConcurrency: 0 }, "critical", "Its reserved concurrency is set to 0: it never runs."],
  ])("%j is %s", (one, severity, text) => {
    expect(found("live-functions", { live: account({ functions: [one] }) })).toEqual([[severity, "worker", text]]);
  });

  test("functions that are ready or inactive are in order", () => {
    const functions = [ready, { ...ready, state: "Inactive", reservedConcurrency: 10 }];
    expect(found("live-functions", { live: account({ functions }) })).toEqual([]);
  });

  const queue = { stack: "Offload-dev-service", tier: "low", isDlq: false, attributes: {} } as const;

  test.each<[string[], string[]]>([
    [["Enabled"], []],
    [["Disabled", "Enabling"], []],
    [["Disabled"], ["No worker takes messages from it: its event source is Disabled."]],
    [[], ["No worker takes messages from it: it has no event source."]],
  ])("event sources %j give the findings %j", (states, texts) => {
    const eventSources = states.map((state, index) => ({ id: `uuid-${index}`, state }));
    const findings = found("live-capacity", { live: account({ queues: [{ ...queue, eventSources }] }) });
    expect(findings).toEqual(texts.map((text) => ["critical", "Offload-dev-service tier low", text]));
  });

  test("the fix of a disabled event source is a command that can be copied", () => {
    const queues = [{ ...queue, eventSources: [{ id: "uuid-0", state: "Disabled" }] }];
    const { findings } = review({ deployment: stackOf({}), types: [], findings: {}, live: account({ queues }) });
    expect(findings.find(({ check }) => check === "live-capacity")?.fix).toContain(
      "`aws lambda update-event-source-mapping --uuid uuid-0 --enabled`",
    );
  });

  const last = { at: "2027-01-08T00:20:00.000Z", whole: true, open: 3, sent: 1, ended: 0, left: 0 };
  const old = "2027-01-08T00:19:59.999Z";

  test.each<[object, string[]]>([
    [{ last, deployedAt: "2026-01-01T00:00:00.000Z" }, []],
    [{ deployedAt: last.at }, []],
    [{}, []],
    [{ unread: "not allowed", deployedAt: "2026-01-01T00:00:00.000Z" }, []],
    [{ last: { ...last, at: old }, deployedAt: "2027-01-09T00:00:00.000Z" }, [`It was made last at ${old}.`]],
    [{ deployedAt: old }, [`It was never made since the deployment at ${old}.`]],
  ])("the rescue %j gives the findings %j", (rescue, texts) => {
    const rescues = [{ stack: "Offload-dev-service", ...rescue }];
    expect(found("live-rescue", { live: account({ reconciles: rescues }) })).toEqual(
      texts.map((text) => ["high", "Offload-dev-service", text]),
    );
  });

  test.each([
    ["0.1.0", "0.1.0", []],
    ["unknown", "0.1.0", []],
    ["0.9.0", "0.1.0", ["Release 0.9.0 is deployed, which 0.1.0 does not know."]],
  ])("release %s under %s gives the findings %j", (release, present, texts) => {
    const findings = releaseFindings({ stack: "Offload-dev-service", release }, present);
    expect(findings.map((finding) => finding.found)).toEqual(texts);
  });

  test("a deployment that skips releases is told which", () => {
    const all = releases as string[];
    all.push("0.2.0", "0.3.0", "0.4.0");
    const foundBetween = (deployed: string, present: string) =>
      releaseFindings({ stack: "s", release: deployed }, present).map(({ severity, found: text }) => [severity, text]);
    expect(foundBetween("0.1.0", "0.2.0")).toEqual([]);
    expect(foundBetween("0.3.0", "0.2.0")).toEqual([]);
    const skipped = "Release 0.1.0 is deployed, and this is 0.4.0: 0.2.0, 0.3.0 would be skipped.";
    expect(foundBetween("0.1.0", "0.4.0")).toEqual([["high", skipped]]);
    expect(foundBetween("0.4.0", "0.2.0")).toHaveLength(1);
    all.length = 1;
  });

  test("the last release is the package's own version", () => {
    expect(releases.at(-1)).toBe(packageVersion());
    const live = account({ releases: [{ stack: "Offload-dev-service", release: "0.0.9" }] });
    expect(found("live-release", { live })).toHaveLength(1);
  });

  test("the account's own limit counts, not the usual one", () => {
    const live = account({ concurrency: 10 });
    expect(found("account-concurrency", { ...faultless, live })).toEqual([
      ["high", "account", expect.stringMatching(/and the account has 10: /)],
    ]);
  });

  test("a new account's limit of 10 is found, and the fix names the profile for it", () => {
    const { findings } = review({ ...faultless, live: account({ concurrency: 10 }) });
    expect(findings.find(({ check }) => check === "account-concurrency")?.fix).toBe(
      'Set profile: "small" (-c profile=small), which fits into 10. Or lower maxConcurrency until the sum is at most 10, or ask AWS for a higher limit and set accountConcurrency.',
    );
  });

  test("the profile small fits into an account of 10, and not into less", () => {
    expect(found("account-concurrency", { ...small, live: account({ concurrency: 10 }) })).toEqual([]);
    expect(found("account-concurrency", small)).toEqual([]);
    const { findings } = review({ ...small, live: account({ concurrency: 5 }) });
    expect(findings.find(({ check }) => check === "account-concurrency")?.fix).toMatch(/^Lower maxConcurrency until/);
  });

  test("queues that differ from their template are found, each with its differences", () => {
    const asDeployed = {
      VisibilityTimeout: "30",
      MessageRetentionPeriod: "1209600",
      SqsManagedSseEnabled: "true",
      RedrivePolicy: JSON.stringify({ deadLetterTargetArn: "arn", maxReceiveCount: 3 }),
    };
    const queues = [{ ...queue, eventSources: [], attributes: asDeployed }];
    expect(found("live-queues", { ...faultless, live: account({ queues }) })).toEqual([
      [
        "medium",
        "Offload/Data/LowQueue",
        "It was changed manually, or this version is not deployed: VisibilityTimeout is 30, not 5400; RedrivePolicy.maxReceiveCount is 3, not 5.",
      ],
    ]);
  });
});

describe("a review", () => {
  test("skipped checks, and checks that need an account, are listed as left out", () => {
    const { leftOut, passed } = review({ deployment: stackOf({}), types: [mail], findings: findingsOfCode([mail]) }, [
      "backoff",
    ]);
    expect(leftOut.map(({ check, why }) => [check, why])).toEqual([
      ["backoff", "skipped"],
      ["live-capacity", "needs --live"],
      ["live-functions", "needs --live"],
      ["live-queues", "needs --live"],
      ["live-release", "needs --live"],
      ["live-rescue", "needs --live"],
      ["live-roles", "needs --live"],
      ["failures", "needs --failures"],
    ]);
    expect(passed.map(({ check }) => check)).not.toContain("backoff");
  });

  test("each check has an id of its own, and its severities in order", () => {
    expect(new Set(checks.map(({ id }) => id)).size).toBe(checks.length);
    for (const check of checks) {
      expect(check.severities).toEqual(severities.filter((severity) => check.severities.includes(severity)));
    }
  });

  test("severities are in order", () => {
    expect(isAtLeast("critical", "high")).toBe(true);
    expect(isAtLeast("high", "high")).toBe(true);
    expect(isAtLeast("medium", "high")).toBe(false);
  });
});

test("docs/doctor.md lists each check with its severities, in order", () => {
  const rows = readFileSync("docs/doctor.md", "utf8").matchAll(/^\| `([\w-]+)` \| ([\w, ]+) \|/gm);
  expect([...rows].map(([, id, words]) => `${id}: ${words}`)).toEqual(
    checks.map(({ id, severities: words }) => `${id}: ${words.join(", ")}`),
  );
});
