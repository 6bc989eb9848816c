/** A template, as far as a review reads it. */
export interface Template {
  Description?: unknown;
  Metadata?: Record<string, unknown>;
  Parameters?: Record<string, { Default?: unknown }>;
  Resources?: Record<string, ResourceJson>;
  Outputs?: Record<string, { Value?: unknown; Export?: { Name?: unknown } }>;
}

interface ResourceJson {
  Type: string;
  Properties?: unknown;
  DeletionPolicy?: string;
  Metadata?: Record<string, unknown>;
}

/** A stack as an app's synthesis leaves it. */
export interface Stack {
  name: string;
  /** Account and region, as text: stacks of one environment share an account's limits. */
  environment: string;
  terminationProtection: boolean;
  template: Template;
}

/** The stage that a pipeline's stack is of, as its description says; undefined for a stack of no pipeline. */
export const stageOf = ({ template: { Description: text } }: Stack): string | undefined =>
  /^Offload ([a-z][a-z0-9-]*):/.exec(typeof text === "string" ? text : "")?.[1];

/** A resource of a template. */
export class Resource {
  readonly stack: Stack;
  /** Its logical id. */
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

  /** Whether CloudFormation leaves it alone when its stack is deleted. */
  get isRetained(): boolean {
    return this.#json.DeletionPolicy?.startsWith("Retain") === true;
  }

  /** The construct's path, `Offload/Data/CriticalQueue`; without one, the logical id. */
  get name(): string {
    const path = this.#json.Metadata?.["aws:cdk:path"];
    return typeof path === "string" ? path.replace(/\/Resource$/, "") : `${this.stack.name}.${this.id}`;
  }

  /** A property by its path, as the template has it: `ScalingConfig.MaximumConcurrency`. */
  get(path: string): unknown {
    let value = this.#json.Properties;
    for (const part of path.split(".")) value = memberOf(value, part);
    return value;
  }

  /** A property that may be one value or several. */
  list(path: string): unknown[] {
    const value = this.get(path);
    return value === undefined ? [] : [value].flat();
  }
}

/** The only key of an intrinsic function's object, and its argument. */
function intrinsicOf(value: unknown): [name: string, argument: unknown] | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const [entry, ...more] = Object.entries(value);
  return entry !== undefined && more.length === 0 && /^(Ref|Fn::\w+)$/.test(entry[0]) ? entry : undefined;
}

export const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;

/** What stands in a text for a resource, so that it can be found again. */
const mark = ({ stack, id }: Resource): string => `⟦${stack.name}/${id}⟧`;

/** Where physical names are, for references that are no references but plain text. */
const nameProperties = ["QueueName", "FunctionName", "TopicName"];

/**
 * The stacks of an app with their references: `Ref`, `Fn::GetAtt`, `Fn::Sub`, exports, and outputs of other stacks all lead to
 * the resource that they mean. What cannot be known before a deployment is undefined, and no check judges it.
 */
export class Deployment {
  /** The stacks of pipelines: what is reviewed. */
  readonly stacks: readonly Stack[];
  readonly #everything: readonly Stack[];
  readonly #byMark: ReadonlyMap<string, Resource>;

  /** @param stacks All stacks of the app: those of no pipeline may still hold what the others refer to. */
  constructor(stacks: readonly Stack[]) {
    this.#everything = stacks;
    this.stacks = stacks.filter((stack) => stageOf(stack) !== undefined);
    const resources = stacks.flatMap((stack) =>
      Object.entries(stack.template.Resources ?? {}).map(([id, json]) => new Resource(stack, id, json)),
    );
    this.#byMark = new Map(resources.map((resource) => [mark(resource), resource]));
  }

  /** The pipelines' resources of some types. */
  ofType(...types: string[]): Resource[] {
    return this.ofTypeAnywhere(...types).filter(({ stack }) => this.stacks.includes(stack));
  }

  /** Resources of some types in any stack of the app. */
  ofTypeAnywhere(...types: string[]): Resource[] {
    return [...this.#byMark.values()].filter(({ type }) => types.includes(type));
  }

  /** The resource that a property refers to. */
  target(resource: Resource, path: string): Resource | undefined {
    return this.targetOf(resource.stack, resource.get(path));
  }

  /** The resource that a value of a stack's template refers to, whichever of its attributes. */
  targetOf(stack: Stack, value: unknown): Resource | undefined {
    const text = this.textOf(stack, value);
    return this.marked(text) ?? this.#named(text);
  }

  /** The resource that a text of `textOf` consists of. */
  marked(text: string): Resource | undefined {
    return this.#byMark.get(text);
  }

  /** A number; `fallback` when the property is absent, undefined when it is there and unknown before a deployment. */
  number(resource: Resource, path: string, fallback?: number): number | undefined {
    const value = resource.get(path);
    if (value === undefined) return fallback;
    const text = this.textOf(resource.stack, value);
    return text === "" || Number.isNaN(Number(text)) ? undefined : Number(text);
  }

  /** A property as text: see `textOf`. */
  text(resource: Resource, path: string): string {
    return this.textOf(resource.stack, resource.get(path));
  }

  /** A value as text, in which each reference is a resource's mark, and what is unknown is `⟦?⟧`. */
  textOf(stack: Stack, value: unknown): string {
    if (value === undefined || value === null) return "";
    const intrinsic = intrinsicOf(value);
    if (intrinsic === undefined) return typeof value === "object" ? JSON.stringify(value) : String(value);
    const [name, argument] = intrinsic;
    return intrinsics[name]?.(this, stack, argument) ?? unknown;
  }

  /** What a reference by logical id means: a resource, a parameter's default, or a pseudo parameter. */
  reference(stack: Stack, id: string): string {
    if (id.startsWith("AWS::")) return `<${id}>`;
    const found = `⟦${stack.name}/${id}⟧`;
    if (this.#byMark.has(found)) return found;
    const fallback = stack.template.Parameters?.[id]?.Default;
    return fallback === undefined ? unknown : String(fallback);
  }

  /** What another stack's output holds. */
  output(stackName: string, outputName: string): string {
    const stack = this.#everything.find(({ name }) => name === stackName);
    const output = stack?.template.Outputs?.[outputName];
    return stack === undefined || output === undefined ? unknown : this.textOf(stack, output.Value);
  }

  /** What is exported under a name. */
  exported(exportName: string): string {
    for (const stack of this.#everything) {
      for (const { Value, Export } of Object.values(stack.template.Outputs ?? {})) {
        if (Export !== undefined && this.textOf(stack, Export.Name) === exportName) return this.textOf(stack, Value);
      }
    }
    return unknown;
  }

  /** The resource whose own fixed name an ARN or a URL ends with. */
  #named(text: string): Resource | undefined {
    const name = /[:/]([\w.-]+)$/.exec(text)?.[1];
    if (name === undefined) return undefined;
    const named = (resource: Resource) => nameProperties.some((property) => resource.get(property) === name);
    return [...this.#byMark.values()].find(named);
  }
}

const unknown = "⟦?⟧";

type Evaluate = (deployment: Deployment, stack: Stack, argument: unknown) => string;

/** The intrinsic functions that lead somewhere before a deployment. */
const intrinsics: Readonly<Record<string, Evaluate>> = {
  Ref: (deployment, stack, id) => deployment.reference(stack, String(id)),
  "Fn::GetAtt": (deployment, stack, argument) =>
    deployment.reference(stack, String(Array.isArray(argument) ? argument[0] : argument).split(".")[0] ?? ""),
  "Fn::Join": (deployment, stack, argument) => {
    const [separator, parts] = argument as [string, unknown];
    if (!Array.isArray(parts)) return unknown;
    return parts.map((part) => deployment.textOf(stack, part)).join(separator);
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
