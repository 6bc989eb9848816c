import { Aws } from "aws-cdk-lib";
import { CfnRule } from "aws-cdk-lib/aws-events";
import { ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { AppSchedule } from "../src/core/schedules/app-schedule.ts";
import { deployedPaths, deployedPattern, deployedTemplate } from "../src/core/schedules/rule-input.ts";
import type { AppTrigger } from "../src/core/schedules/trigger.ts";
import { toEnv } from "../src/settings/config.ts";
import { allowMeasure, allowObjects, allowSendTasks, allowTable } from "./access.ts";
import { addPurgeRule } from "./app-schedules.ts";
import type { DataStack } from "./data-stack.ts";
import type { PipelineFunction } from "./function.ts";
import { addTriggers } from "./triggers.ts";

/** Grants fire what it does: it dispatches tasks, submits them, and repairs the rules of tenants' schedules. */
export function allowFire(fire: PipelineFunction, data: DataStack): void {
  const { table, bucket, scheduling } = data;
  allowTable(fire, table, ["GetItem", "Query", "Scan", "PutItem", "UpdateItem", "DeleteItem"]);
  allowMeasure(fire, data.mainQueues);
  allowSendTasks(fire, data);
  allowObjects(fire, bucket, "fire");
  scheduling.allowManage(fire);
}

/** The app's schedules and triggers. */
export interface Rules {
  readonly deployment: string;
  /** Offload's version. */
  readonly version: string;
  readonly schedules: readonly AppSchedule[];
  readonly triggers: readonly AppTrigger[];
}

/** The file with the app's schedules. */
export const scheduleTexts = ({ schedules }: Pick<Rules, "schedules">) => ({
  "schedules.json": JSON.stringify(schedules),
});

/** Files with the app's schedules and triggers. */
export const ruleTexts = ({ schedules, triggers }: Pick<Rules, "schedules" | "triggers">) => ({
  ...scheduleTexts({ schedules }),
  "triggers.json": JSON.stringify(triggers),
});

/**
 * Adds the rules that invoke fire: those of the app's triggers, and the daily one. `addScheduleStacks` adds those of
 * its schedules.
 */
export function addRules(fire: PipelineFunction, { scheduling, events }: DataStack, rules: Rules): void {
  if (rules.triggers.length > 0) fire.addVariables(toEnv({ firingsDlqUrl: scheduling.dlq.queueUrl }));
  addTriggers(fire, rules.triggers, { deployment: rules.deployment, scheduling, bus: events });
  addPurgeRule(fire, scheduling);
  addDeployedRule(fire, rules.version, scheduling.firings.queueArn);
}

/**
 * Tells fire of the end of each deployment, also of a deployment that was rolled back: fire notes its time, and looks
 * at the lines.
 */
function addDeployedRule(fire: PipelineFunction, version: string, firingsArn: string): void {
  const rule = new CfnRule(fire, "Deployed", {
    description: "Notes when a deployment starts and ends, and then looks at waiting tasks",
    eventPattern: deployedPattern(Aws.STACK_ID),
    targets: [
      {
        ...{ id: "fire", arn: fire.function.functionArn },
        inputTransformer: { inputPathsMap: deployedPaths, inputTemplate: deployedTemplate(version) },
        deadLetterConfig: { arn: firingsArn },
      },
    ],
  });
  fire.function.addPermission("DeployedRule", {
    principal: new ServicePrincipal("events.amazonaws.com"),
    sourceArn: rule.attrArn,
  });
}
