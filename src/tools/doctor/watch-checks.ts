import type { Deployment, Resource } from "./deployment.ts";
import type { Check } from "./finding.ts";
import { ruleCheck } from "./rules.ts";

export const alarmAction = ruleCheck("alarm-action", "Each alarm has an action", {
  severity: "medium",
  broken: (deployment) => {
    const rules = composites(deployment)
      .filter((alarm) => hasAction(deployment, alarm))
      .map((alarm) => deployment.text(alarm, "AlarmRule"));
    return [...deployment.ofType("AWS::CloudWatch::Alarm"), ...composites(deployment)].filter(
      (alarm) => !hasAction(deployment, alarm) && !rules.some((rule) => isNamedIn(deployment, alarm, rule)),
    );
  },
  found: "It notifies no one: it has no action, and no composite alarm with an action contains it.",
  fix: "Add an action. For its own alarms `TaskPipeline` adds one for `alarmEmail` or `alarmTopicArn`.",
});

const composites = (deployment: Deployment): Resource[] => deployment.ofType("AWS::CloudWatch::CompositeAlarm");

const hasAction = (deployment: Deployment, alarm: Resource): boolean =>
  alarm.list("AlarmActions").length > 0 && deployment.text(alarm, "ActionsEnabled") !== "false";

/** A composite alarm's rule contains names or ARNs of other alarms, as references or as plain text. */
function isNamedIn(deployment: Deployment, alarm: Resource, rule: string): boolean {
  const name = deployment.text(alarm, "AlarmName");
  const names = [...rule.matchAll(/\(\s*"?([^")]+?)"?\s*\)/g)].map(([, inner = ""]) => inner);
  return names.some((inner) => deployment.marked(inner) === alarm || (name !== "" && inner.endsWith(name)));
}

export const alarmSubscriber = ruleCheck("alarm-subscriber", "Each alarm topic has a subscriber", {
  severity: "low",
  broken: (deployment) => {
    const heard = new Set(
      deployment.ofTypeAnywhere("AWS::SNS::Subscription").map((one) => deployment.target(one, "TopicArn")),
    );
    return alarmTopics(deployment).filter((topic) => !heard.has(topic) && topic.get("Subscription") === undefined);
  },
  found: "Alarms notify this topic, and the app adds no subscriber to it.",
  fix: "Set alarmEmail or alarmTopicArn, or add a subscription manually.",
});

function alarmTopics(deployment: Deployment): Resource[] {
  const alarms = [...deployment.ofType("AWS::CloudWatch::Alarm"), ...composites(deployment)];
  const targets = alarms.flatMap((alarm) =>
    alarm.list("AlarmActions").map((action) => deployment.targetOf(alarm.stack, action)),
  );
  return [...new Set(targets)].filter((target): target is Resource => target?.type === "AWS::SNS::Topic");
}

export const logRetention = ruleCheck(
  "log-retention",
  "Each log group has a retention",
  {
    severity: "medium",
    broken: (deployment) =>
      deployment.ofType("AWS::Logs::LogGroup").filter((group) => group.get("RetentionInDays") === undefined),
    found: "It keeps its lines forever, and its cost grows each month.",
    fix: "Set retention, such as RetentionDays.ONE_MONTH.",
  },
  {
    severity: "medium",
    broken: (deployment) =>
      deployment.ofType("AWS::Lambda::Function").filter((one) => one.get("LoggingConfig.LogGroup") === undefined),
    found: "The app creates no log group for it: Lambda creates one that keeps its lines forever.",
    fix: "Set logGroup to a log group with a retention.",
  },
);

export const watchChecks: readonly Check[] = [alarmAction, alarmSubscriber, logRetention];
