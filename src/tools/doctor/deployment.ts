/** The parts of a CloudFormation template that the doctor reads. */
export interface Template {
  Description?: unknown;
  Metadata?: Record<string, unknown>;
  Parameters?: Record<string, { Type?: unknown; Default?: unknown }>;
  Resources?: Record<string, ResourceJson>;
  Outputs?: Record<string, { Value?: unknown; Export?: { Name?: unknown } }>;
}

interface ResourceJson {
  Type: string;
  Properties?: unknown;
  DeletionPolicy?: string;
  Metadata?: Record<string, unknown>;
}

/** A synthesized stack. */
export interface Stack {
  name: string;
  /** Account and region as one text. Stacks with the same environment share the account's limits. */
  environment: string;
  terminationProtection: boolean;
  template: Template;
}

/** Stage of a pipeline's stack, from its description. Undefined: the stack does not belong to a pipeline. */
export const stageOf = ({ template: { Description: text } }: Stack): string | undefined =>
  /^Offload ([a-z][a-z0-9-]*):/.exec(typeof text === "string" ? text : "")?.[1];

/** A resource of a template. */
export class Resource {
  readonly stack: Stack;
  /** Logical id. */
  readonly id: string;
  readonly #json: ResourceJson;

  constructor(stack: Stack, id: string, json: ResourceJson) {
    this.stack = stack;
    this.id = id;
    this.#json = json;
  }

  get type(): string {
    return this.#json.Type;
  }

  /** True when CloudFormation keeps the resource after its stack is deleted. */
  get isRetained(): boolean {
    return this.#json.DeletionPolicy?.startsWith("Retain") === true;
  }

  /** Path of the construct, such as `Offload/Data/CriticalQueue`. Without a path: stack name and logical id. */
  get name(): string {
    const path = this.#json.Metadata?.["aws:cdk:path"];
    return typeof path === "string" ? path.replace(/\/Resource$/, "") : `${this.stack.name}.${this.id}`;
  }

  /** Returns a property by its path in the template, such as `ScalingConfig.MaximumConcurrency`. */
  get(path: string): unknown {
    let value = this.#json.Properties;
    for (const part of path.split(".")) value = memberOf(value, part);
    return value;
  }

  /** Returns a property as an array. A single value becomes an array of one. */
  list(path: string): unknown[] {
    const value = this.get(path);
    return value === undefined ? [] : [value].flat();
  }
}

/** Name and argument of an intrinsic function. Undefined for any other value. */
function intrinsicOf(value: unknown): [name: string, argument: unknown] | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const [entry, ...more] = Object.entries(value);
  return entry !== undefined && more.length === 0 && /^(Ref|Fn::\w+)$/.test(entry[0]) ? entry : undefined;
}

export const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;

/** Placeholder of a resource within a text. */
const mark = ({ stack, id }: Resource): string => `⟦${stack.name}/${id}⟧`;

/** Properties with physical names. Some references are plain text with a physical name. */
const nameProperties = ["QueueName", "FunctionName", "TopicName"];

/**
 * The stacks of an app with resolved references: `Ref`, `Fn::GetAtt`, `Fn::Sub`, exports, outputs and SSM parameters of
 * other stacks lead to their resource. Values that are unknown before a deployment are undefined, and checks ignore
 * them.
 */
export class Deployment {
  /** The stacks of pipelines. The checks cover only these. */
  readonly stacks: readonly Stack[];
  readonly #everything: readonly Stack[];
  readonly #byMark: ReadonlyMap<string, Resource>;

  /** @param stacks All stacks of the app. Pipeline stacks may refer to resources of the others. */
  constructor(stacks: readonly Stack[]) {
    this.#everything = stacks;
    this.stacks = stacks.filter((stack) => stageOf(stack) !== undefined);
    const resources = stacks.flatMap((stack) =>
      Object.entries(stack.template.Resources ?? {}).map(([id, json]) => new Resource(stack, id, json)),
    );
    this.#byMark = new Map(resources.map((resource) => [mark(resource), resource]));
  }

  /** Resources of the given types in the pipelines' stacks. */
  ofType(...types: string[]): Resource[] {
    return this.ofTypeAnywhere(...types).filter(({ stack }) => this.stacks.includes(stack));
  }

  /** Resources of the given types in all stacks of the app. */
  ofTypeAnywhere(...types: string[]): Resource[] {
    return [...this.#byMark.values()].filter(({ type }) => types.includes(type));
  }

  /** The resource that a property refers to. */
  target(resource: Resource, path: string): Resource | undefined {
    return this.targetOf(resource.stack, resource.get(path));
  }

  /** The resource that a value in a stack's template refers to, with any attribute. */
  targetOf(stack: Stack, value: unknown): Resource | undefined {
    return this.resourceAt(this.textOf(stack, value));
  }

  /** The resource that a text names: its placeholder, its ARN or its URL. */
  resourceAt(text: string): Resource | undefined {
    return this.marked(text) ?? this.#named(text);
  }

  /** The resource whose placeholder is the whole text. */
  marked(text: string): Resource | undefined {
    return this.#byMark.get(text);
  }

  /** Returns a number, or `fallback` when the property is absent. Undefined: unknown before a deployment. */
  number(resource: Resource, path: string, fallback?: number): number | undefined {
    const value = resource.get(path);
    if (value === undefined) return fallback;
    const text = this.textOf(resource.stack, value);
    return text === "" || Number.isNaN(Number(text)) ? undefined : Number(text);
  }

  /** Returns a property as text; see `textOf`. */
  text(resource: Resource, path: string): string {
    return this.textOf(resource.stack, resource.get(path));
  }

  /** Converts a value to text. A reference becomes the resource's placeholder, an unknown value `⟦?⟧`. */
  textOf(stack: Stack, value: unknown): string {
    if (value === undefined || value === null) return "";
    const intrinsic = intrinsicOf(value);
    if (intrinsic === undefined) return typeof value === "object" ? JSON.stringify(value) : String(value);
    const [name, argument] = intrinsic;
    return intrinsics[name]?.(this, stack, argument) ?? unknown;
  }

  /** Converts a value to a list of texts: an array, a split text, or a parameter with a list. */
  listOf(stack: Stack, value: unknown): string[] {
    if (Array.isArray(value)) return value.map((part) => this.textOf(stack, part));
    const [name, argument] = intrinsicOf(value) ?? [];
    if (name !== "Fn::Split") return this.textOf(stack, value).split(",");
    const [separator, text] = argument as [string, unknown];
    return this.textOf(stack, text).split(separator);
  }

  /** Resolves a logical id to the placeholder of a resource, the value of a parameter, or a pseudo parameter. */
  reference(stack: Stack, id: string): string {
    if (id.startsWith("AWS::")) return `<${id}>`;
    const found = `⟦${stack.name}/${id}⟧`;
    if (this.#byMark.has(found)) return found;
    const { Type: type, Default: fallback } = stack.template.Parameters?.[id] ?? {};
    if (fallback === undefined) return unknown;
    return String(type).startsWith("AWS::SSM::Parameter::Value<") ? this.#stored(String(fallback)) : String(fallback);
  }

  /** Value of an SSM parameter of any stack. */
  #stored(parameterName: string): string {
    const parameters = this.ofTypeAnywhere("AWS::SSM::Parameter");
    const found = parameters.find((parameter) => this.text(parameter, "Name") === parameterName);
    return found === undefined ? unknown : this.text(found, "Value");
  }

  /** Value of an output of any stack. */
  output(stackName: string, outputName: string): string {
    const stack = this.#everything.find(({ name }) => name === stackName);
    const output = stack?.template.Outputs?.[outputName];
    return stack === undefined || output === undefined ? unknown : this.textOf(stack, output.Value);
  }

  /** Value of an export. */
  exported(exportName: string): string {
    for (const stack of this.#everything) {
      for (const { Value, Export } of Object.values(stack.template.Outputs ?? {})) {
        if (Export !== undefined && this.textOf(stack, Export.Name) === exportName) return this.textOf(stack, Value);
      }
    }
    return unknown;
  }

  /** The resource whose placeholder or physical name is at the end of an ARN or a URL. */
  #named(text: string): Resource | undefined {
    const placeholder = /[:/](⟦[^⟧]+⟧)$/.exec(text)?.[1];
    if (placeholder !== undefined) return this.#byMark.get(placeholder);
    const name = /[:/]([\w.-]+)$/.exec(text)?.[1];
    if (name === undefined) return undefined;
    const named = (resource: Resource) => nameProperties.some((property) => resource.get(property) === name);
    return [...this.#byMark.values()].find(named);
  }
}

const unknown = "⟦?⟧";

type Evaluate = (deployment: Deployment, stack: Stack, argument: unknown) => string;

/** Intrinsic functions that can be resolved before a deployment. */
const intrinsics: Readonly<Record<string, Evaluate>> = {
  Ref: (deployment, stack, id) => deployment.reference(stack, String(id)),
  "Fn::GetAtt": (deployment, stack, argument) =>
    deployment.reference(stack, String(Array.isArray(argument) ? argument[0] : argument).split(".")[0] ?? ""),
  "Fn::Join": (deployment, stack, argument) => {
    const [separator, parts] = argument as [string, unknown];
    return deployment.listOf(stack, parts).join(separator);
  },
  "Fn::Select": (deployment, stack, argument) => {
    const [index, list] = argument as [unknown, unknown];
    return deployment.listOf(stack, list)[Number(index)] ?? unknown;
  },
  "Fn::Sub": (deployment, stack, argument) => {
    const [text, values] = (Array.isArray(argument) ? argument : [argument, {}]) as [string, Record<string, unknown>];
    return text.replaceAll(/\$\{([^!}][^}]*)\}/g, (_, name: string) =>
      Object.hasOwn(values, name)
        ? deployment.textOf(stack, values[name])
        : deployment.reference(stack, name.split(".")[0] ?? ""),
    );
  },
  "Fn::ImportValue": (deployment, stack, argument) => deployment.exported(deployment.textOf(stack, argument)),
  "Fn::GetStackOutput": (deployment, stack, argument) =>
    deployment.output(
      deployment.textOf(stack, memberOf(argument, "StackName")),
      String(memberOf(argument, "OutputName")),
    ),
};
