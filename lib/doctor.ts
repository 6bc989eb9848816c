import { Annotations, type App, CfnElement, Stack, Stage } from "aws-cdk-lib";
import type { IConstruct } from "constructs";
import type { TaskType } from "../src/core/task.ts";
import { acceptedKey } from "../src/doctor/accepted.ts";
import { Deployment, type Stack as ReviewedStack, type Template } from "../src/doctor/deployment.ts";
import { type Finding, isAtLeast } from "../src/doctor/finding.ts";
import { review } from "../src/doctor/review.ts";

/**
 * Runs the checks of `npx offload doctor` at each synthesis. Findings of severity medium and above become warnings of the
 * affected constructs. `Annotations.of(construct).acknowledgeWarning("offload:<check>", reason)` suppresses a warning.
 * @param types Task types of the workers.
 */
export function reviewAtSynth(app: App, types: readonly TaskType[]): void {
  for (const stage of app.node.findAll().filter((construct) => Stage.isStage(construct))) {
    stage.node.addValidation({
      // Runs after references between stacks are resolved, and before templates are written.
      validate() {
        addWarnings(stage, types);
        return [];
      },
    });
  }
}

function addWarnings(stage: Stage, types: readonly TaskType[]): void {
  const stacks = stage.node.findAll().filter((construct) => Stack.isStack(construct) && Stage.of(construct) === stage);
  const deployment = new Deployment((stacks as Stack[]).map(toReviewedStack));
  if (deployment.stacks.length === 0) return;
  for (const finding of review({ deployment, types }).findings) {
    if (isAtLeast(finding.severity, "medium")) warn(stage, stacks as Stack[], finding);
  }
}

function toReviewedStack(stack: Stack): ReviewedStack {
  return {
    name: stack.stackName,
    environment: stack.environment,
    terminationProtection: stack.terminationProtection === true,
    template: templateOf(stack),
  };
}

/** Uses a protected method of Stack: nothing else returns the whole template before it is written. */
function templateOf(stack: Stack): Template {
  return stack.resolve((stack as unknown as { _toCloudFormation(): unknown })._toCloudFormation());
}

function warn(
  stage: Stage,
  stacks: readonly Stack[],
  { check, severity, subject, found, fix, at }: Finding & { check: string },
) {
  const stack = stacks.find(({ stackName }) => stackName === at?.stack);
  const where: IConstruct = (stack && elementOf(stack, at?.logicalId)) ?? stacks.find(acceptsTasks) ?? stage;
  Annotations.of(where).addWarningV2(`offload:${check}`, `${severity}: ${subject}: ${found} ${fix}`);
}

/** Findings without a resource go to the service stack, because the CDK command line prints only warnings of stacks. */
const acceptsTasks = (stack: Stack): boolean => stack.templateOptions.metadata?.[acceptedKey] !== undefined;

const elementOf = (stack: Stack, logicalId: string | undefined): IConstruct | undefined =>
  stack.node.findAll().find((one) => CfnElement.isCfnElement(one) && stack.resolve(one.logicalId) === logicalId);
