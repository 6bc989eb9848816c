import { Stack, Token } from "aws-cdk-lib";
import type { IConstruct } from "constructs";
import { settingError } from "./setting-error.ts";

/**
 * Refuses a resource whose stack has an account or a Region that the pipeline's stacks lack, or the other way round.
 * The CDK takes the two for different ones, and ends the synth with an error about a physical name. A resource with a
 * fixed name can be used from anywhere.
 * @param use The option or function that got the resource.
 * @throws TypeError that names both stacks, and the way out
 */
export function checkSameEnvironment(use: string, resource: IConstruct, pipelineStack: Stack): void {
  const own = Stack.of(resource);
  if (isKnown(own.account, own.region) === isKnown(pipelineStack.account, pipelineStack.region)) return;
  if (!isNamedByDeployment(resource)) return;
  throw settingError(
    `${use}: ${resource.node.path} is in a stack with ${environmentOf(own)}, and the pipeline's stacks have ` +
      `${environmentOf(pipelineStack)}, so the CDK takes them for different accounts. ` +
      "Give both the same `env` ({ account, region }), or none",
  );
}

const isKnown = (account: string, region: string): boolean =>
  !Token.isUnresolved(account) && !Token.isUnresolved(region);

const environmentOf = ({ account, region }: Stack): string =>
  isKnown(account, region) ? `env ${account}/${region}` : "no env";

/** True for a resource of the app without a fixed name. An imported one has no resource of CloudFormation in it. */
const isNamedByDeployment = (resource: IConstruct): boolean =>
  resource.node.defaultChild !== undefined && Token.isUnresolved(Reflect.get(resource, "physicalName"));
