import { Stack, Stage, Token } from "aws-cdk-lib";
import type { IConstruct } from "constructs";
import { settingError } from "./setting-error.ts";

/** Lambda allows 64 characters, of which the longest fixed name of a function needs five. */
const longestName = 59;

const namePattern = /^[A-Za-z][A-Za-z0-9-]*$/;

/** @throws TypeError for a name that stacks, functions or event buses cannot have */
export function checkName(name: string): void {
  if (namePattern.test(name) && name.length <= longestName) return;
  throw settingError(
    `the deployment would be named ${JSON.stringify(name)}: expected at most ${longestName} letters, digits and '-', starting with a letter. ` +
      "Its name is the construct's id and the stage: choose another id, or set deploymentName",
  );
}

interface Claim {
  readonly name: string;
  readonly account: string;
  readonly region: string;
}

/** Names of the deployments of each app. */
const claims = new WeakMap<IConstruct, Map<string, IConstruct>>();

/** The name of an account or Region. A name that only the deployment knows is the same for all of an app's stacks. */
const known = (value: string): string => (Token.isUnresolved(value) ? "unknown" : value);

/**
 * Notes that a deployment of an app has a name, in an account and a Region.
 * @returns True when the app has another deployment of this name in the account, in another Region.
 * @throws TypeError when the name is taken: both deployments would be the same stacks
 */
export function claimName(pipeline: IConstruct, { name, account, region }: Claim): boolean {
  const all = claims.get(pipeline.node.root) ?? new Map<string, IConstruct>();
  claims.set(pipeline.node.root, all);
  const inAccount = `${known(account)}/${name}`;
  const place = `${inAccount}/${known(region)}`;
  const other = all.get(place);
  if (other !== undefined) throw taken(name, pipeline, other);
  const isElsewhere = all.has(inAccount);
  all.set(place, pipeline);
  all.set(inAccount, pipeline);
  return isElsewhere;
}

/** Stacks of the app that would be deployed to those of a pipeline, and replace them. */
export function sameNames({ node }: IConstruct, own: readonly Stack[]): string[] {
  const others = node.root.node.findAll().filter((one) => Stack.isStack(one) && !own.includes(one)) as Stack[];
  return others.flatMap(({ stackName, environment, node: { path }, nestedStackParent }) =>
    own
      .filter(
        (one) => nestedStackParent === undefined && one.stackName === stackName && one.environment === environment,
      )
      .map((one) => `${path} and ${one.node.path} are both the stack ${stackName}: give one another name`),
  );
}

function taken(name: string, pipeline: IConstruct, other: IConstruct): TypeError {
  const paths = `${other.node.path} and ${pipeline.node.path}`;
  const stages = [other, pipeline].map((one) => Stage.of(one)?.node.path ?? "");
  const ofStages = stages[0] === stages[1] ? "" : "; for Stages in several accounts or Regions, give each its env";
  return settingError(
    `${paths} would both be the deployment ${name}, with the same stacks in the same account and Region. ` +
      `Give one of them another \`stage\`, id or \`deploymentName\`${ofStages}`,
  );
}
