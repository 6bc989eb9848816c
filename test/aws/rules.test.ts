import { describe, expect, test } from "vitest";
import { SqsRuleChecks } from "../../src/aws/rule-checks.ts";
import { ruleRequest, SchedulerRules } from "../../src/aws/rules.ts";
import { PortUnavailable } from "../../src/core/model/errors.ts";
import { RuleRefused } from "../../src/core/schedules/cron.ts";

const config = {
  scheduleGroup: "offload-dev",
  fireArn: "arn:aws:lambda:eu-central-1:1:function:fire",
  schedulerRoleArn: "arn:aws:iam::1:role/scheduler",
  schedulerDlqArn: "arn:aws:sqs:eu-central-1:1:scheduler-dlq",
};

const rule = {
  name: "0f4f0b5e-6c4b-4d0c-9d0e-2f9a8f3f7c55",
  expression: "cron(0 2 * * ? *)",
  timezone: "Europe/Berlin",
  enabled: true,
  payload: { kind: "schedule", tenant_id: "acme", schedule_id: "s", rule_revision: 7 },
} as const;

describe("the request of a rule", () => {
  test("the request is exact to the minute, carries names and the scheduled time, and names a queue for lost firings", () => {
    expect(ruleRequest(config, rule)).toEqual({
      Name: rule.name,
      GroupName: "offload-dev",
      ScheduleExpression: "cron(0 2 * * ? *)",
      ScheduleExpressionTimezone: "Europe/Berlin",
      State: "ENABLED",
      FlexibleTimeWindow: { Mode: "OFF" },
      ActionAfterCompletion: "DELETE",
      Target: {
        Arn: config.fireArn,
        RoleArn: config.schedulerRoleArn,
        Input:
          '{"kind":"schedule","tenant_id":"acme","schedule_id":"s","rule_revision":7,' +
          '"scheduled_for":"<aws.scheduler.scheduled-time>"}',
        DeadLetterConfig: { Arn: config.schedulerDlqArn },
      },
    });
  });

  test("the request has the rule's bounds, and can disable the rule", () => {
    const [startAt, endAt] = ["2027-01-01T00:00:00.000Z", "2028-01-01T00:00:00.000Z"];
    expect(ruleRequest(config, { ...rule, startAt, endAt, enabled: false })).toMatchObject({
      StartDate: new Date(startAt),
      EndDate: new Date(endAt),
      State: "DISABLED",
    });
  });
});

/** An error as AWS answers it. */
const answer = (name: string, message = "no", more: object = {}) =>
  Object.assign(new Error(message), { name, ...more });

/** Rules over a client that answers each request with the next of these; undefined is success. */
function rulesOver(...answers: (Error | undefined)[]) {
  const sent: string[] = [];
  const send = async (command: object) => {
    sent.push(command.constructor.name);
    const next = answers.shift();
    if (next !== undefined) throw next;
    return {};
  };
  return { rules: new SchedulerRules({ send } as never, config), sent };
}

describe("answers of EventBridge Scheduler", () => {
  test("a put replaces a rule that exists", async () => {
    const { rules, sent } = rulesOver(answer("ConflictException"), undefined);
    await rules.put(rule);
    expect(sent).toEqual(["CreateScheduleCommand", "UpdateScheduleCommand"]);
  });

  test.each([
    ["ThrottlingException", "Rate exceeded"],
    ["InternalServerException", "oops"],
    ["ServiceQuotaExceededException", "too many schedules"],
    ["TimeoutError", "no answer"],
  ])("a passing failure makes the port unavailable: %s", async (name, message) => {
    await expect(rulesOver(answer(name, message)).rules.put(rule)).rejects.toBeInstanceOf(PortUnavailable);
    await expect(rulesOver(answer(name, message)).rules.delete("s")).rejects.toBeInstanceOf(PortUnavailable);
  });

  test("a rule that others change at the same time makes the port unavailable", async () => {
    const conflict = answer("ConflictException");
    await expect(rulesOver(conflict, conflict).rules.put(rule)).rejects.toBeInstanceOf(PortUnavailable);
    const gone = answer("ResourceNotFoundException");
    await expect(rulesOver(conflict, gone).rules.put(rule)).rejects.toBeInstanceOf(PortUnavailable);
    await expect(rulesOver(conflict).rules.delete("s")).rejects.toBeInstanceOf(PortUnavailable);
  });

  test.each([
    "Invalid Schedule Expression cron(0 0 31 2 ? *).",
    "The timezone you entered is not valid.",
    "The EndDate you specify must be in the future.",
  ])("a refusal of the rule is reported as such: %s", async (message) => {
    const refused = rulesOver(answer("ValidationException", message)).rules.put(rule);
    await expect(refused).rejects.toEqual(new RuleRefused(message));
  });

  test("a refusal of our own settings is thrown as it is, and shows the client nothing", async () => {
    const ours = answer("ValidationException", "The execution role you provide must allow to assume the role.");
    await expect(rulesOver(ours).rules.put(rule)).rejects.toBe(ours);
  });

  test("the deletion of a rule that does not exist succeeds", async () => {
    const { rules, sent } = rulesOver(answer("ResourceNotFoundException"));
    await rules.delete("s");
    expect(sent).toEqual(["DeleteScheduleCommand"]);
  });
});

describe("a check of a rule", () => {
  test("a check is a message that arrives after a minute", async () => {
    const sent: unknown[] = [];
    const send = async ({ input }: { input: unknown }) => sent.push(input);
    const checks = new SqsRuleChecks({ send } as never, "https://sqs/firings");
    await checks.request({ tenant_id: "acme", schedule_id: "s" });
    expect(sent).toEqual([
      {
        QueueUrl: "https://sqs/firings",
        MessageBody: '{"kind":"rule_check","tenant_id":"acme","schedule_id":"s"}',
        MessageGroupId: "acme",
        DelaySeconds: 60,
      },
    ]);
  });

  test("a check that cannot be requested makes the port unavailable", async () => {
    const send = () => Promise.reject(answer("RequestThrottled"));
    const checks = new SqsRuleChecks({ send } as never, "https://sqs/firings");
    await expect(checks.request({ tenant_id: "acme", schedule_id: "s" })).rejects.toBeInstanceOf(PortUnavailable);
  });
});
