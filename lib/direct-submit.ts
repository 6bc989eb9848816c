import { createHash } from "node:crypto";
import { Annotations, CustomResource, Duration, Stack, Token } from "aws-cdk-lib";
import { type IGrantable, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { BundlingOptions } from "aws-cdk-lib/aws-lambda-nodejs";
import { Construct, type IDependable } from "constructs";
import { leanClients } from "../src/installed/installation.ts";
import { catalogKey, type SettingTexts, toEnv } from "../src/settings/config.ts";
import { inShort } from "../src/util/foreign-value.ts";
import { allowSubmit } from "./access.ts";
import type { DataStack } from "./data-stack.ts";
import { allowKeyOf } from "./encryption.ts";
import { type LogOptions, PipelineFunction } from "./function.ts";
import { settingError } from "./setting-error.ts";
import { warnOfLoop } from "./submit-loops.ts";
import type { TaskRole } from "./task-role.ts";

export interface DirectSubmitProps {
  /** Name of the deployment. */
  readonly deployment: string;
  readonly data: DataStack;
  /** The catalogue of task types, as JSON. */
  readonly catalog: string;
  /** Settings of the function submit. */
  readonly settings: SettingTexts;
  readonly logs: LogOptions;
  /** The roles of the workers, whose handlers may invoke a function that submits. */
  readonly taskRole: TaskRole;
  /**
   * The catalogue is published after these were updated: the workers, so that no task has a type that they do not know.
   */
  readonly after: readonly IDependable[];
}

/**
 * Options for `bundling` of a `NodejsFunction` that submits directly. Offload's small AWS clients take the place of the
 * SDK, which halves the bundle. No package is left to the runtime, as its version of the SDK's parts is another one.
 */
export const directSubmitBundling = {
  esbuildArgs: { "--conditions": `module,${leanClients}` },
  externalModules: [],
  mainFields: ["module", "main"],
  minify: true,
} satisfies BundlingOptions;

/** Options of a grant to submit. */
export interface GrantSubmitOptions {
  /**
   * Start of the names of the function's variables, for a function that submits to several deployments: `BILLING_`
   * makes `BILLING_OFFLOAD_TABLE`. `createDirectClient` of `offload/direct` has the same option.
   * @default - none
   */
  readonly prefix?: string;
}

const prefixPattern = /^([A-Za-z][A-Za-z0-9_]{0,39})?$/;

const wrongPrefix = (prefix: string): TypeError =>
  settingError(
    `prefix must be at most 40 letters, digits and '_', starting with a letter; got ${JSON.stringify(prefix)}`,
  );

/** Deployments that functions submit to, by the prefix of their variables. */
const submitters = new WeakMap<object, Map<string, DirectSubmit>>();

/** A function or a singleton whose variables can be set. */
interface WithEnvironment {
  addEnvironment(name: string, value: string): unknown;
}

const hasEnvironment = (value: object): value is WithEnvironment =>
  "addEnvironment" in value && typeof value.addEnvironment === "function";

/** The function whose variables can be set: the given one, or that of an alias or version. */
function functionOf(grantee: IGrantable): { readonly target?: WithEnvironment; readonly isFunction: boolean } {
  if (hasEnvironment(grantee)) return { target: grantee, isFunction: true };
  if ("lambda" in grantee && typeof grantee.lambda === "object" && grantee.lambda !== null) {
    return hasEnvironment(grantee.lambda) ? { target: grantee.lambda, isFunction: true } : { isFunction: true };
  }
  return { isFunction: "functionArn" in grantee };
}

function warnOfMissing(grantee: IGrantable, prefix: string): void {
  if (!Construct.isConstruct(grantee)) return;
  Annotations.of(grantee).addWarningV2(
    "offload:submit-settings",
    "grantSubmit cannot set the variables of a function that is imported: set those of pipeline.submitSettings where the function is defined" +
      (prefix === "" ? "" : `, with ${prefix} before their names`),
  );
}

const isGrantable = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "grantPrincipal" in value;

/** @throws TypeError for a program of another account or Region: table, bucket and queues have no names for it */
function checkSamePlace(own: Stack, data: Stack): void {
  const differ = (a: string, b: string) => !Token.isUnresolved(a) && !Token.isUnresolved(b) && a !== b;
  if (!differ(own.account, data.account) && !differ(own.region, data.region)) return;
  throw settingError(
    `${own.node.path} is in another account or Region (${own.environment}) than the deployment (${data.environment}), where no direct submit reaches: ` +
      "use the HTTP API there, with offload/client",
  );
}

const publishTimeout = Duration.minutes(1);

/**
 * Submits of programs with AWS credentials. They find the catalogue in the table. The function and the resource that
 * write it exist only in deployments with such programs.
 */
export class DirectSubmit {
  private readonly stack: Stack;
  private readonly props: DirectSubmitProps;
  private published = false;

  constructor(stack: Stack, props: DirectSubmitProps) {
    this.stack = stack;
    this.props = props;
  }

  /**
   * Grants what the function submit may do. Sets the environment of a Lambda function, also by its alias or version.
   * @throws TypeError when the function already submits to another deployment under the same names
   */
  grant(grantee: IGrantable, { prefix = "" }: GrantSubmitOptions = {}): void {
    const { data } = this.props;
    if (!prefixPattern.test(prefix)) throw wrongPrefix(prefix);
    if (!isGrantable(grantee))
      throw settingError(
        `grantSubmit needs a function, a role or another principal of the CDK, got ${inShort(grantee)}`,
      );
    if (Construct.isConstruct(grantee)) {
      const own = Stack.of(grantee);
      checkSamePlace(own, data);
      data.useIn(own);
    }
    allowSubmit(grantee, data);
    const environment = Object.entries(this.environment).map(([name, value]) => [prefix + name, value] as const);
    const { target, isFunction } = functionOf(grantee);
    if (target !== undefined) {
      this.claim(target, prefix);
      warnOfLoop(target, this.props.taskRole);
      for (const [name, value] of environment) target.addEnvironment(name, value);
    } else if (isFunction) warnOfMissing(grantee, prefix);
  }

  /** Notes that a function submits to this deployment under a prefix. */
  private claim(target: object, prefix: string): void {
    const { deployment } = this.props;
    const known = submitters.get(target) ?? new Map<string, DirectSubmit>();
    submitters.set(target, known);
    const other = known.get(prefix);
    known.set(prefix, this);
    if (other === undefined || other === this) return;
    const path = Construct.isConstruct(target) ? target.node.path : "the function";
    throw settingError(
      `${path} already submits to ${other.props.deployment}, and its variables for ${deployment} would have the same names. ` +
        `Give one of them a prefix: grantSubmit(fn, { prefix: "SECOND_" }), and in the function createDirectClient({ prefix: "SECOND_" })`,
    );
  }

  /** Environment variables for `createDirectClient`. */
  get environment(): Readonly<Record<string, string>> {
    this.publish();
    return toEnv({ ...this.props.settings, deployment: this.props.deployment });
  }

  private publish(): void {
    if (this.published) return;
    this.published = true;
    const { catalog, after } = this.props;
    const resource = new CustomResource(this.stack, "Catalog", {
      resourceType: "Custom::OffloadCatalog",
      serviceToken: this.addFunction().function.functionArn,
      // CloudFormation calls the function when a property changes.
      properties: { Sha256: createHash("sha256").update(catalog).digest("hex") },
      serviceTimeout: Duration.seconds(publishTimeout.toSeconds() * 3),
    });
    resource.node.addDependency(...after);
  }

  private addFunction(): PipelineFunction {
    const { deployment, data, catalog, logs } = this.props;
    const publish = new PipelineFunction(this.stack, "Publish", {
      name: "publish",
      description: "Offload: publishes the catalogue of task types at each deployment",
      settings: { table: data.table.tableName },
      files: { texts: { "catalog.json": catalog } },
      timeout: publishTimeout,
      logs,
      service: deployment,
    });
    allowKeyOf(publish, data.table);
    publish.grantPrincipal.addToPrincipalPolicy(
      new PolicyStatement({
        actions: ["dynamodb:PutItem", "dynamodb:DeleteItem"],
        resources: [data.table.tableArn],
        conditions: { "ForAllValues:StringEquals": { "dynamodb:LeadingKeys": [catalogKey] } },
      }),
    );
    return publish;
  }
}
