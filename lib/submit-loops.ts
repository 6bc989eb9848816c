import { Annotations } from "aws-cdk-lib";
import type { PolicyStatement } from "aws-cdk-lib/aws-iam";
import { CfnFunction, type Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";
import type { TaskRole } from "./task-role.ts";

const loopText =
  "submits tasks directly, and tasks may invoke it. When a chain of messages and invocations comes through a function for the 17th time, Lambda takes it for an endless loop: " +
  "it does not invoke the function, and no task follows. If such a loop is meant, set recursiveLoop: RecursiveLoop.ALLOW on the function, and let your code end it; " +
  'else say so: Annotations.of(fn).acknowledgeWarning("offload:submit-loop")';

/**
 * Warns of a function that submits directly and that a task may invoke: AWS takes the two for an endless loop. Grants
 * come in any order.
 */
export function warnOfLoop(fn: object, taskRole: TaskRole): void {
  if (!isFunction(fn) || isAllowed(fn)) return;
  taskRole.onStatement((statement) => {
    if (mayInvoke(statement, fn)) Annotations.of(fn).addWarningV2("offload:submit-loop", `${fn.node.path} ${loopText}`);
  });
}

const isFunction = (fn: object): fn is LambdaFunction =>
  Construct.isConstruct(fn) && fn.node.defaultChild instanceof CfnFunction;

const isAllowed = ({ node }: LambdaFunction): boolean => (node.defaultChild as CfnFunction).recursiveLoop === "Allow";

const invokes = /^(\*|lambda:(\*|Invoke(\*|Function)?))$/i;

/** True for a statement that names the function, or a version or alias of it. */
const mayInvoke = ({ effect, actions, resources }: PolicyStatement, { functionArn }: LambdaFunction): boolean =>
  effect === "Allow" &&
  actions.some((action) => invokes.test(action)) &&
  resources.some((resource) => resource.startsWith(functionArn));
