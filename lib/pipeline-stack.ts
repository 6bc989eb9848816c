import { CfnElement, type Environment, Names, Stack, type StackProps, Token } from "aws-cdk-lib";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { DISABLE_CREATION_STACK_TRACES, IAM_MINIMIZE_POLICIES } from "aws-cdk-lib/cx-api";
import { Construct, type IConstruct, RootConstruct } from "constructs";
import type { Template } from "../src/tools/doctor/deployment.ts";

/** The place of a pipeline's stacks. */
export interface Place {
  /** @default - the account and Region of the credentials at deployment */
  readonly env?: Environment;
  /** The construct that contains the stacks of a pipeline. */
  readonly pipeline: IConstruct;
  /** Path at which logical ids see the pipeline, which is another than its place when it was moved. */
  readonly idsPath: string;
  /** Key of all that is stored. Undefined: AWS's own keys. */
  readonly encryptionKey?: IKey | undefined;
}

/** The place, without other properties. */
export const placeOf = ({ env, pipeline, idsPath, encryptionKey }: Place): Place => ({
  ...{ pipeline, idsPath, encryptionKey },
  ...(env !== undefined && { env }),
});

/** The template of a stack as it was before the write, and the constructs that are in it. */
interface Made {
  readonly template: Template;
  readonly constructs: ReadonlySet<IConstruct>;
}

/** The hash at the end of the CDK's unique ids. */
const uniqueIdEnd = /[0-9A-F]{8}/;

/**
 * A stack whose logical ids are the same wherever its pipeline stands. The CDK puts the whole path of a construct into
 * some of them, such as those of event source mappings, which CloudFormation cannot replace: the new mapping would
 * exist beside the old one for a moment.
 */
export class PipelineStack extends Stack {
  readonly encryptionKey: IKey | undefined;
  private readonly pipeline: IConstruct;
  private readonly idsPath: readonly string[];
  /** The CDK asks for an element's id at each reference, and would hash its path each time. */
  private readonly allocated = new WeakMap<CfnElement, string>();
  private made: Made | undefined;

  constructor(scope: Construct, id: string, { pipeline, idsPath, encryptionKey, ...props }: StackProps & Place) {
    super(scope, id, { suppressTemplateIndentation: true, ...props });
    // As in apps that `cdk init` makes: statements about the same are one. IAM counts the characters of a policy.
    this.node.setContext(IAM_MINIMIZE_POLICIES, true);
    // All would name the one line of the app that makes the pipeline, with its folder. `cdk synth --debug` has them.
    this.node.setContext(DISABLE_CREATION_STACK_TRACES, true);
    this.pipeline = pipeline;
    this.encryptionKey = encryptionKey;
    this.idsPath = idsPath.split("/");
  }

  protected override allocateLogicalId(element: CfnElement): string {
    const known = this.allocated.get(element);
    if (known !== undefined) return known;
    const made = this.madeLogicalId(element);
    this.allocated.set(element, made);
    return made;
  }

  private madeLogicalId(element: CfnElement): string {
    if (this.idsPath.join("/") === this.pipeline.node.path) return super.allocateLogicalId(element);
    const { scopes } = element.node;
    return uniqueIdOf(scopes.slice(scopes.indexOf(this) + 1).map(({ node }) => this.withIdsPath(node.id)));
  }

  /** Makes the template, without tokens, for checks after all references are resolved. The write takes it. */
  templateToCheck(): Template {
    const template = super._toCloudFormation();
    this.made = { template, constructs: new Set(this.node.findAll()) };
    return template;
  }

  /**
   * The CDK calls it when it writes the template, which takes a tenth of a second: what a check has made is not made
   * again. Until then, synthesizers add parameters and rules to the stack itself.
   */
  protected override _toCloudFormation(): Template {
    const { made } = this;
    this.made = undefined;
    const added = made && this.node.findAll().filter((construct) => !made.constructs.has(construct));
    if (made === undefined || !added?.every((one) => one.node.scope === this && CfnElement.isCfnElement(one)))
      return super._toCloudFormation();
    return added.reduce((template, element) => merged(template, this.resolve(fragmentOf(element))), made.template);
  }

  /** The CDK's unique id of a construct of the pipeline, or of one below it. */
  uniqueIdOf({ node }: IConstruct, ...children: readonly string[]): string {
    const below = node.scopes.slice(this.pipeline.node.scopes.length).map((scope) => scope.node.id);
    return uniqueIdOf([...this.idsPath, ...below, ...children]);
  }

  /** Replaces the unique ids of the pipeline's constructs in the id of another construct. */
  private withIdsPath(id: string): string {
    if (!uniqueIdEnd.test(id)) return id;
    let replaced = id;
    for (const construct of this.pipeline.node.findAll()) {
      const actual = Names.nodeUniqueId(construct.node);
      if (uniqueIdEnd.test(actual) && replaced.includes(actual))
        replaced = replaced.replaceAll(actual, this.uniqueIdOf(construct));
    }
    return replaced;
  }
}

/** The part of a template that an element makes: `{ "Parameters": { "BootstrapVersion": { ... } } }`. */
const fragmentOf = (element: IConstruct) => (element as unknown as { _toCloudFormation(): object })._toCloudFormation();

function merged(template: Template, fragment: Record<string, object>): Template {
  const sections = template as Record<string, object>;
  const more = Object.entries(fragment).map(([name, section]) => [name, { ...sections[name], ...section }]);
  return { ...template, ...Object.fromEntries(more) };
}

/** The CDK's unique id of a path, in a tree that has only this path. */
function uniqueIdOf(path: readonly string[]): string {
  let construct: Construct = new RootConstruct();
  for (const id of path) construct = new Construct(construct, id);
  return Names.nodeUniqueId(construct.node);
}

/** The account and Region of a pipeline's stacks: the given ones, or those of the stack around it. */
export function environmentOf(pipeline: IConstruct, given: Environment | undefined): Pick<StackProps, "env"> {
  if (given !== undefined) return { env: given };
  const around = pipeline.node.scopes.find((scope) => Stack.isStack(scope));
  if (around === undefined) return {};
  const { account, region } = around;
  return {
    env: {
      ...(!Token.isUnresolved(account) && { account }),
      ...(!Token.isUnresolved(region) && { region }),
    },
  };
}

/**
 * The id that the CDK would make of a child of a construct, the same wherever the pipeline stands: for names that are
 * the CDK's own ids by default.
 */
export function stableId(construct: IConstruct, child: string): string {
  const stack = Stack.of(construct);
  return stack instanceof PipelineStack ? stack.uniqueIdOf(construct, child) : Names.uniqueId(construct) + child;
}
