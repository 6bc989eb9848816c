import type { Stack } from "aws-cdk-lib";
import type { Template } from "../src/tools/doctor/deployment.ts";

/*
 * CloudFormation, Lambda and IAM would refuse these by their size; the synth tells it. Names that CloudFormation makes
 * are counted with the length that they will have; values that only a deployment knows are not counted.
 */

const mostVariableBytes = 4_096;
const mostResources = 500;
const mostPolicyCharacters = 10_240;
const mostManagedCharacters = 6_144;
const mostTemplateBytes = 1_000_000;

/** Lengths of the names that CloudFormation makes: the limit of the type, and the random part at the end. */
const madeNames: Readonly<Record<string, readonly [limit: number, random: number]>> = {
  "AWS::SQS::Queue": [80, 12],
  "AWS::IAM::Role": [64, 12],
  "AWS::DynamoDB::GlobalTable": [255, 13],
  "AWS::S3::Bucket": [63, 12],
  "AWS::Lambda::Function": [64, 12],
  "AWS::ApiGatewayV2::Api": [10, 10],
  "AWS::ECS::Cluster": [255, 12],
};

/** Properties with a resource's own name. */
const nameProperties = ["FunctionName", "QueueName", "Name", "TableName", "BucketName", "RoleName"];

interface ResourceJson {
  readonly Type: string;
  readonly Properties?: Readonly<Record<string, unknown>>;
}

/** A stack with its template. */
export interface MeasuredStack {
  readonly stack: Stack;
  readonly template: Template;
}

/** Estimates texts of a stack's template as a deployment will have them. */
class Texts {
  private readonly stack: Stack;
  private readonly resources: Readonly<Record<string, ResourceJson>>;
  /** Texts of the data stack that other stacks read. */
  private readonly shared: SharedTexts;
  private readonly parameters: Readonly<Record<string, { readonly Type?: unknown }>>;

  constructor({ stack, template }: MeasuredStack, shared: SharedTexts) {
    this.stack = stack;
    this.parameters = template.Parameters ?? {};
    this.resources = (template.Resources ?? {}) as Record<string, ResourceJson>;
    this.shared = shared;
  }

  /** A value as text. Unknown parts are empty. */
  of(value: unknown): string {
    if (typeof value !== "object" || value === null) return String(value ?? "");
    if (Array.isArray(value)) return value.map((one) => this.of(one)).join("");
    const [[name, given] = []] = Object.entries(value);
    if (name === "Ref") return this.ref(String(given));
    if (name === "Fn::GetAtt") return this.attribute(given as readonly [string, string]);
    if (name === "Fn::Join") {
      const [separator, parts] = given as [string, unknown[]];
      return Array.isArray(parts) ? parts.map((one) => this.of(one)).join(separator) : "";
    }
    if (name === "Fn::Select") return this.entry(given as readonly [number, unknown]);
    if (name === "Fn::Sub") {
      const [text, values] = (typeof given === "string" ? [given, {}] : given) as [string, Record<string, unknown>];
      return text.replaceAll(/\$\{([^}]+)\}/g, (_, id) => (id in values ? this.of(values[id]) : this.ref(id)));
    }
    return "";
  }

  /** An entry of the list of names, or of a text. */
  private entry([index, from]: readonly [number, unknown]): string {
    const split = (from as { "Fn::Split"?: readonly [string, unknown] })["Fn::Split"];
    const all = split === undefined ? this.shared.list : this.of(split[1]).split(split[0]);
    return all[index] ?? "";
  }

  private ref(id: string): string {
    const pseudo: Readonly<Record<string, string>> = {
      "AWS::Partition": "aws",
      "AWS::URLSuffix": "amazonaws.com",
      "AWS::Region": this.region,
      "AWS::AccountId": "123456789012",
      "AWS::StackId": `arn:aws:cloudformation:${this.region}:123456789012:stack/${this.stack.stackName}/01234567-0123-0123-0123-012345678901`,
    };
    if (this.parameters[id]?.Type === "AWS::SSM::Parameter::Value<String>") return this.shared.text;
    const name = this.nameOf(id);
    if (this.resources[id]?.Type === "AWS::SQS::Queue") {
      return `https://sqs.${this.region}.amazonaws.com/123456789012/${name}`;
    }
    return pseudo[id] ?? name;
  }

  private attribute([id, attribute]: readonly [string, string]): string {
    const { Type: type = "" } = this.resources[id] ?? {};
    const service = type.split("::")[1]?.toLowerCase() ?? "";
    return /arn$/i.test(attribute)
      ? `arn:aws:${service}:${this.region}:123456789012:table/${this.nameOf(id)}`
      : this.nameOf(id);
  }

  private get region(): string {
    return /^[a-z0-9-]+$/.test(this.stack.region) ? this.stack.region : "us-east-1";
  }

  /**
   * The name of a resource: its own, or as CloudFormation makes it of the stack's name, the logical id and a random
   * part.
   */
  private nameOf(id: string): string {
    const { Type: type = "", Properties: properties = {} } = this.resources[id] ?? {};
    const own = nameProperties.map((name) => properties[name]).find((name) => typeof name === "string");
    if (typeof own === "string") return own;
    const [limit, random] = madeNames[type] ?? [0, 0];
    return "x".repeat(Math.min(limit, this.stack.stackName.length + id.length + random + 2));
  }
}

/** The names that a data stack stores for other stacks, as a list and as one text. */
interface SharedTexts {
  readonly list: readonly string[];
  readonly text: string;
}

const nothingShared: SharedTexts = { list: [], text: "" };

function sharedTexts(all: readonly MeasuredStack[]): SharedTexts {
  for (const one of all) {
    const texts = new Texts(one, nothingShared);
    const [list, text] = resourcesOf(one, "AWS::SSM::Parameter")
      .map(([, { Properties: properties }]) => properties?.Value)
      .filter((value) => typeof value === "object" && value !== null && "Fn::Join" in value)
      .map((value) => texts.of(value));
    if (list !== undefined) return { list: list.split(","), text: text ?? "" };
  }
  return nothingShared;
}

/** Sentences about what is too large in the stacks of a pipeline, each with what to do. */
export function tooLarge(all: readonly MeasuredStack[]): string[] {
  const shared = sharedTexts(all);
  return all.flatMap((one) => {
    const texts = new Texts(one, shared);
    return [
      ...largeStack(one),
      ...largeEnvironments(one, texts),
      ...largePolicies(one, texts),
      ...largeManagedPolicies(one, texts),
    ];
  });
}

function largeStack({ stack, template }: MeasuredStack): string[] {
  const resources = Object.keys(template.Resources ?? {}).length;
  const bytes = Buffer.byteLength(JSON.stringify(template));
  return [
    ...(resources > mostResources
      ? [
          `the stack ${stack.stackName} has ${resources} resources, and CloudFormation allows ${mostResources}: ` +
            "move triggers and other rules to a second TaskPipeline, or create schedules with the API, which takes any number",
        ]
      : []),
    ...(bytes > mostTemplateBytes
      ? [
          `the template of the stack ${stack.stackName} has ${bytes} bytes, and CloudFormation allows ${mostTemplateBytes}: ` +
            "make the inputs of schedules smaller, create schedules with the API, or move some to a second TaskPipeline",
        ]
      : []),
  ];
}

const resourcesOf = ({ template }: MeasuredStack, type: string): [string, ResourceJson][] =>
  Object.entries((template.Resources ?? {}) as Record<string, ResourceJson>).filter(([, one]) => one.Type === type);

/** Lambda measures the JSON of all variables. */
function largeEnvironments(one: MeasuredStack, texts: Texts): string[] {
  return resourcesOf(one, "AWS::Lambda::Function").flatMap(([id, { Properties: properties }]) => {
    const environment = properties?.Environment as { Variables?: Record<string, unknown> } | undefined;
    const variables = Object.entries(environment?.Variables ?? {}).map(([name, value]) => [name, texts.of(value)]);
    const bytes = Buffer.byteLength(JSON.stringify(Object.fromEntries(variables)));
    if (bytes <= mostVariableBytes) return [];
    return [
      `the environment variables of ${id} in the stack ${one.stack.stackName} have ${bytes} bytes, and Lambda allows ${mostVariableBytes}: ` +
        "store long values of `environment` in a parameter or a secret, add a file with `workerFiles`, or give the pipeline a shorter id or " +
        "deploymentName, which is in the names of queues",
    ];
  });
}

/** The CDK moves what is too much for a role's own policies to managed ones, but splits no statement. */
const largeManagedPolicies = (one: MeasuredStack, texts: Texts): string[] =>
  resourcesOf(one, "AWS::IAM::ManagedPolicy").flatMap(([id, { Properties: properties }]) => {
    const { length } = JSON.stringify(withTexts(properties?.PolicyDocument, texts));
    if (length <= mostManagedCharacters) return [];
    return [
      `the policy ${id} in the stack ${one.stack.stackName} has ${length} characters, and IAM allows ${mostManagedCharacters}: ${fewer}`,
    ];
  });

const fewer = "grant tasks a common prefix or tag of resources in place of each one, or use fewer secrets";

/** IAM counts the characters of all inline policies of a role, without white space. */
function largePolicies(one: MeasuredStack, texts: Texts): string[] {
  const sizes = new Map<string, number>();
  for (const [, { Properties: properties }] of resourcesOf(one, "AWS::IAM::Policy")) {
    const text = JSON.stringify(withTexts(properties?.PolicyDocument, texts));
    for (const role of (properties?.Roles as { Ref?: string }[] | undefined) ?? []) {
      if (role.Ref !== undefined) sizes.set(role.Ref, (sizes.get(role.Ref) ?? 0) + text.length);
    }
  }
  return [...sizes]
    .filter(([, size]) => size > mostPolicyCharacters)
    .map(
      ([role, size]) =>
        `the policies of the role ${role} in the stack ${one.stack.stackName} have ${size} characters, and IAM allows ${mostPolicyCharacters}: ${fewer}`,
    );
}

/** A policy with its references as texts. */
function withTexts(value: unknown, texts: Texts): unknown {
  if (Array.isArray(value)) return value.map((one) => withTexts(one, texts));
  if (typeof value !== "object" || value === null) return value;
  const [name = ""] = Object.keys(value);
  if (name === "Ref" || name.startsWith("Fn::")) return texts.of(value);
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withTexts(one, texts)]));
}
