import { createHash } from "node:crypto";
import { CustomResource, Duration, Stack } from "aws-cdk-lib";
import { type IGrantable, PolicyStatement } from "aws-cdk-lib/aws-iam";
import { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { BundlingOptions } from "aws-cdk-lib/aws-lambda-nodejs";
import { Construct, type IDependable } from "constructs";
import { catalogKey, type SettingTexts, toEnv } from "../src/config.ts";
import { allowSubmit } from "./access.ts";
import type { DataStack } from "./data-stack.ts";
import { leanClients } from "./esbuild.ts";
import { type LogOptions, PipelineFunction } from "./function.ts";

export interface DirectSubmitProps {
  /** Name of the deployment. */
  readonly deployment: string;
  readonly data: DataStack;
  /** The catalogue of task types, as JSON. */
  readonly catalog: string;
  /** Settings of the function submit. */
  readonly settings: SettingTexts;
  readonly logs: LogOptions;
  /** The catalogue is published after these were updated: the workers, so that no task has a type that they do not know. */
  readonly after: readonly IDependable[];
}

/**
 * Options for `bundling` of a `NodejsFunction` that submits directly. Offload's small AWS clients take the place of the SDK, which
 * halves the bundle. No package is left to the runtime, as its version of the SDK's parts is another one.
 */
export const directSubmitBundling = {
  esbuildArgs: { "--conditions": `module,${leanClients}` },
  externalModules: [],
  mainFields: ["module", "main"],
  minify: true,
} satisfies BundlingOptions;

const publishTimeout = Duration.minutes(1);

/**
 * Submits of programs with AWS credentials. They find the catalogue in the table. The function and the resource that write it
 * exist only in deployments with such programs.
 */
export class DirectSubmit {
  private readonly stack: Stack;
  private readonly props: DirectSubmitProps;
  private published = false;

  constructor(stack: Stack, props: DirectSubmitProps) {
    this.stack = stack;
    this.props = props;
  }

  /** Grants what the function submit may do. Sets the environment of a Lambda function. */
  grant(grantee: IGrantable): void {
    const { data } = this.props;
    if (Construct.isConstruct(grantee)) data.names.useIn(Stack.of(grantee));
    allowSubmit(grantee, data);
    const { environment } = this;
    if (!(grantee instanceof LambdaFunction)) return;
    for (const [name, value] of Object.entries(environment)) grantee.addEnvironment(name, value);
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
