import {
  CfnParameter,
  Fn,
  type IResolvable,
  type IResolveContext,
  Lazy,
  Names,
  Stack,
  Tokenization,
} from "aws-cdk-lib";
import type { CfnGlobalTable, TableV2 } from "aws-cdk-lib/aws-dynamodb";
import type { CfnRole, Role } from "aws-cdk-lib/aws-iam";
import type { Bucket, CfnBucket } from "aws-cdk-lib/aws-s3";
import type { CfnQueue, Queue } from "aws-cdk-lib/aws-sqs";
import { StringListParameter, StringParameter } from "aws-cdk-lib/aws-ssm";
import { Construct } from "constructs";
import { PipelineStack } from "./pipeline-stack.ts";

/** References to a resource, with the texts that replace them in another stack. */
type References = readonly (readonly [reference: string, text: string])[];

/** A resource by its name or ARN, from which its other attributes follow. */
export interface SharedName {
  /** The name or ARN in the resource's own stack. */
  readonly value: string;
  /** The references in another stack, from the value there. */
  readonly references: (value: string, stack: Stack) => References;
  /** The same in policies, in fewer bytes. Undefined: as elsewhere. */
  readonly inPolicies?: (value: string) => References;
  /** The same in variables of functions, from another value. Undefined: as elsewhere. */
  readonly inVariables?: { readonly value: string; readonly references: (value: string, stack: Stack) => References };
}

/** The ARN of a resource of the same account and Region, as one text. */
const shortArn = (service: string, resource: string, name: string): string =>
  Fn.sub(`arn:\${AWS::Partition}:${service}:\${AWS::Region}:\${AWS::AccountId}:${resource}\${n}`, { n: name });

export function sharedTable(table: TableV2): SharedName {
  const { ref, attrArn } = table.node.defaultChild as CfnGlobalTable;
  return {
    value: ref,
    references: (name, stack) => [
      [ref, name],
      [attrArn, stack.formatArn({ service: "dynamodb", resource: "table", resourceName: name })],
    ],
    inPolicies: (name) => [[attrArn, shortArn("dynamodb", "table/", name)]],
  };
}

export function sharedBucket(bucket: Bucket): SharedName {
  const { ref, attrArn } = bucket.node.defaultChild as CfnBucket;
  return {
    value: ref,
    references: (name, stack) => [
      [ref, name],
      [attrArn, stack.formatArn({ service: "s3", region: "", account: "", resource: name })],
    ],
  };
}

export function sharedQueue(queue: Queue): SharedName {
  const { ref, attrArn, attrQueueName } = queue.node.defaultChild as CfnQueue;
  const all = (name: string, url: string, stack: Stack): References => [
    [attrQueueName, name],
    [attrArn, stack.formatArn({ service: "sqs", resource: name })],
    [ref, url],
  ];
  return {
    value: attrQueueName,
    references: (name, stack) =>
      all(name, `https://sqs.${stack.region}.${stack.urlSuffix}/${stack.account}/${name}`, stack),
    inPolicies: (name) => [[attrArn, shortArn("sqs", "", name)]],
    // Functions need the URLs of many queues, which as one reference each make the template smaller.
    inVariables: { value: ref, references: (url, stack) => all(Fn.select(4, Fn.split("/", url)), url, stack) },
  };
}

/**
 * A role's ARN does not follow from its name, because a role may have a path. An app that brings its roles along
 * (`Role.customizeRoles`) has no resource for it.
 */
export function sharedRole(role: Role): SharedName {
  const resource = role.node.defaultChild as CfnRole | undefined;
  if (resource === undefined) return { value: role.roleArn, references: () => [] };
  const { attrArn } = resource;
  return { value: attrArn, references: (arn) => [[attrArn, arn]] };
}

/** First entry of the names as one text. */
const textStart = "names";

/**
 * SSM parameters with the names of a stack's resources, for references of other stacks. The CDK's own references need
 * an output for each attribute, and `cdk deploy` prints every output.
 *
 * There are two, as a list and as one text. Variables of functions read the text: `cdk deploy --hotswap` and
 * `cdk watch` calculate them without CloudFormation, from the resolved text of a parameter, and they know no lists
 * there. All else reads the list, as the first releases did: a resource such as an event source mapping cannot take
 * another expression without the risk of a replacement.
 */
export class SharedNames extends Construct {
  private readonly parameterName: string;
  private readonly names: readonly SharedName[];
  private readonly readers = new Set<Stack>();

  /** @param names Add names at the end: stacks are deployed one after the other, and know names by their position. */
  constructor(scope: Construct, id: string, names: readonly SharedName[]) {
    super(scope, id);
    this.names = names;
    this.parameterName = `/offload/${Stack.of(this).stackName}`;
    const values = names.map(({ value }) => value);
    new StringListParameter(this, "Parameter", {
      parameterName: this.parameterName,
      description: "Names of resources, for the stacks that use them",
      stringListValue: values,
    });
    new StringParameter(this, "Text", {
      parameterName: `${this.parameterName}/text`,
      description: "The same names, for variables of functions",
      stringValue: Fn.join(",", [textStart, ...names.map(({ value, inVariables }) => inVariables?.value ?? value)]),
    });
  }

  /**
   * Makes the references of another stack read the parameters. Without effect on stacks of another account or Region.
   */
  useIn(stack: Stack): void {
    const own = Stack.of(this);
    if (stack === own || stack.environment !== own.environment || this.readers.has(stack)) return;
    this.readers.add(stack);
    const { valueAsList } = new CfnParameter(stack, Names.uniqueId(this), {
      type: "AWS::SSM::Parameter::Value<List<String>>",
      default: this.parameterName,
      description: "SSM parameter with the names of the data stack's resources",
    });
    // Its name is in each variable, so it is short where no stack of the app could have another of the name.
    const textId = stack instanceof PipelineStack ? "NamesText" : `${Names.uniqueId(this)}Text`;
    const { valueAsString } = new CfnParameter(stack, textId, {
      type: "AWS::SSM::Parameter::Value<String>",
      default: `${this.parameterName}/text`,
      description: "The same names, for variables of functions",
    });
    stack.addStackDependency(own);
    for (const [index, { references, inPolicies, inVariables = { references } }] of this.names.entries()) {
      const name = Fn.select(index, valueAsList);
      // Without its resolved text the parameter is one word, of which a first entry would be found, and be wrong.
      const entry = Fn.select(index + 1, Fn.split(",", valueAsString));
      const variables = new Map(inVariables.references(entry, stack));
      const policies = new Map(inPolicies?.(name));
      for (const [reference, text] of references(name, stack)) {
        const places = { Environment: variables.get(reference), PolicyDocument: policies.get(reference) };
        replace(reference, stack, text, places);
      }
    }
  }
}

/**
 * Sets the text that replaces a reference in a stack, and others in properties of some names. Uses a method that the
 * CDK does not export: a CDK without it makes outputs, which work as well.
 */
function replace(reference: string, stack: Stack, text: string, others: Readonly<Record<string, string | undefined>>) {
  const found: Partial<Replaceable> | undefined = Tokenization.reverseCompleteString(reference);
  const produce = ({ documentPath }: IResolveContext) => {
    const path = new Set(documentPath.map((name) => name.toLowerCase()));
    return Object.entries(others).find(([property]) => path.has(property.toLowerCase()))?.[1] ?? text;
  };
  found?.assignValueForStack?.(stack, Lazy.uncachedAny({ produce }));
}

interface Replaceable extends IResolvable {
  assignValueForStack(stack: Stack, value: IResolvable): void;
}
