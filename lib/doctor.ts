import { Annotations, CfnElement, type Stack } from "aws-cdk-lib";
import type { IConstruct } from "constructs";
import { acceptedKey } from "../src/tools/doctor/accepted.ts";
import { Deployment, type Stack as ReviewedStack, type Template } from "../src/tools/doctor/deployment.ts";
import { type Finding, isAtLeast, type Subject } from "../src/tools/doctor/finding.ts";
import { review } from "../src/tools/doctor/review.ts";
import { sameNames } from "./deployment-name.ts";
import { PipelineStack } from "./pipeline-stack.ts";
import { tooLarge } from "./size-checks.ts";

type ReviewedCode = Pick<Subject, "types" | "findings">;

/**
 * Runs the checks of `npx offload doctor` at each synthesis. Findings of severity medium and above become warnings of
 * the affected constructs. `Annotations.of(construct).acknowledgeWarning("offload:<check>", reason)` suppresses a
 * warning.
 * @param pipeline A construct that contains the pipeline's stacks, and no others.
 * @param code The task types of the workers, and what was found in them.
 */
export function reviewAtSynth(pipeline: IConstruct, code: ReviewedCode): void {
  pipeline.node.addValidation({
    // Refuses what AWS would refuse by its size. Runs after references between stacks are resolved, and before
    // templates are written.
    validate() {
      const stacks = pipeline.node.findAll().filter((construct) => construct instanceof PipelineStack);
      const all = stacks.map((stack) => ({ stack, template: stack.templateToCheck() }));
      addWarnings(pipeline, all, code);
      return [...tooLarge(all), ...sameNames(pipeline, stacks)];
    },
  });
}

/** A stack with its template. */
interface Made {
  readonly stack: Stack;
  readonly template: Template;
}

function addWarnings(pipeline: IConstruct, all: readonly Made[], code: ReviewedCode): void {
  const deployment = new Deployment(all.map(toReviewedStack));
  const stacks = all.map(({ stack }) => stack);
  for (const finding of review({ deployment, ...code }).findings) {
    if (isAtLeast(finding.severity, "medium")) warn(pipeline, stacks, finding);
  }
}

function toReviewedStack({ stack, template }: Made): ReviewedStack {
  return {
    name: stack.stackName,
    environment: stack.environment,
    terminationProtection: stack.terminationProtection === true,
    template,
  };
}

function warn(
  pipeline: IConstruct,
  stacks: readonly Stack[],
  { check, severity, subject, found, fix, at }: Finding & { check: string },
) {
  const stack = stacks.find(({ stackName }) => stackName === at?.stack);
  const where: IConstruct = (stack && elementOf(stack, at?.logicalId)) ?? stacks.find(acceptsTasks) ?? pipeline;
  Annotations.of(where).addWarningV2(`offload:${check}`, `${severity}: ${subject}: ${found} ${fix}`);
}

/** Findings without a resource go to the service stack, because the CDK command line prints only warnings of stacks. */
const acceptsTasks = (stack: Stack): boolean => stack.templateOptions.metadata?.[acceptedKey] !== undefined;

const elementOf = (stack: Stack, logicalId: string | undefined): IConstruct | undefined =>
  stack.node.findAll().find((one) => CfnElement.isCfnElement(one) && stack.resolve(one.logicalId) === logicalId);
