import { type Duration, type RemovalPolicy, Validations } from "aws-cdk-lib";
import { type IGrantable, type IPrincipal, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Architecture, Function as LambdaFunction, MetricType, RecursiveLoop, Runtime } from "aws-cdk-lib/aws-lambda";
import { SqsEventSource, type SqsEventSourceProps } from "aws-cdk-lib/aws-lambda-event-sources";
import { LogGroup, type RetentionDays } from "aws-cdk-lib/aws-logs";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { type FunctionName, type SettingTexts, toEnv, workerBatchSize } from "../src/config.ts";
import { bundledCode } from "./bundle.ts";
import type { BundleFiles } from "./esbuild.ts";
import { acknowledgeTracing, type TracingOptions, traced, tracingEnv } from "./tracing.ts";

/** How a log group keeps its lines. */
export interface LogOptions {
  readonly retention: RetentionDays;
  readonly removalPolicy: RemovalPolicy;
}

/** What a queue's event source hands out, and how much of it at once. */
export type Feed = Pick<
  SqsEventSourceProps,
  "maxConcurrency" | "provisionedPollerConfig" | "batchSize" | "maxBatchingWindow"
>;

export interface PipelineFunctionProps {
  /** Which file of `lambdas/` it runs. */
  readonly name: FunctionName;
  /** What it does, for people who list functions. */
  readonly description: string;
  /** The settings it reads; it gets no others. */
  readonly settings: SettingTexts;
  /** How long one invocation may take. */
  readonly timeout: Duration;
  /** How its log group keeps lines. */
  readonly logs: LogOptions;
  /** The deployment's name, by which its metrics are told from those of others. */
  readonly service: string;
  /**
   * Where its spans go.
   * @default - nowhere
   */
  readonly tracing?: TracingOptions;
  /**
   * Memory, and with it a share of a CPU: 1,769 MB are one.
   * @default 512
   */
  readonly memorySize?: number;
  /**
   * Files that go beside its code.
   * @default - none
   */
  readonly files?: BundleFiles;
  /**
   * Whether it may send messages that come back to it, without Lambda taking that for an endless loop.
   * @default false
   */
  readonly recursive?: boolean;
  /**
   * Takes the events of asynchronous invocations that failed three times.
   * @default - none: nothing invokes it asynchronously
   */
  readonly deadLetterQueue?: IQueue;
  /**
   * A name that stays the same over deployments, for what outlives them and names the function.
   * @default - made up by CloudFormation
   */
  readonly functionName?: string;
}

/** A Lambda function of the pipeline, with a role and a log group of its own. It may do nothing but log until it is granted more. */
export class PipelineFunction extends Construct implements IGrantable {
  readonly function: LambdaFunction;
  readonly logGroup: LogGroup;
  /** In MB. */
  readonly memorySize: number;
  readonly grantPrincipal: IPrincipal;

  constructor(scope: Construct, id: string, props: PipelineFunctionProps) {
    super(scope, id);
    const { tracing, memorySize = 512 } = props;
    this.logGroup = new LogGroup(this, "Logs", props.logs);
    this.memorySize = memorySize;
    const role = new Role(this, "Role", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
    this.logGroup.grantWrite(role);
    this.grantPrincipal = role;
    this.function = new LambdaFunction(this, "Function", {
      description: props.description,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      code: bundledCode(props.name, props.files),
      handler: "index.handler",
      environment: {
        ...toEnv(props.settings),
        POWERTOOLS_SERVICE_NAME: props.service,
        ...(tracing !== undefined && tracingEnv),
      },
      timeout: props.timeout,
      memorySize,
      role,
      logGroup: this.logGroup,
      ...(tracing !== undefined && traced(this, tracing)),
      ...(props.recursive === true && { recursiveLoop: RecursiveLoop.ALLOW }),
      ...(props.deadLetterQueue !== undefined && { deadLetterQueue: props.deadLetterQueue }),
      ...(props.functionName !== undefined && { functionName: props.functionName }),
    });
    acknowledgeTracing(this.function, tracing !== undefined);
    this.acknowledge();
  }

  /** Feeds it with a queue's messages; those that it reports as failed stay in the queue. */
  takeFrom(queue: IQueue, feed: Feed): void {
    this.function.addEventSource(
      new SqsEventSource(queue, {
        batchSize: workerBatchSize,
        reportBatchItemFailures: true,
        metricsConfig: { metrics: [MetricType.EVENT_COUNT] },
        ...feed,
      }),
    );
    Validations.of(this.function).acknowledge({
      id: "Serverless-LambdaEventSourceMappingDestination",
      reason: "An SQS event source has none: what fails stays in the queue, whose redrive policy takes over.",
    });
  }

  private acknowledge(): void {
    const validations = Validations.of(this.function);
    if (this.function.deadLetterQueue !== undefined) return;
    validations.acknowledge({
      id: "Serverless-LambdaDLQ",
      reason: "Nothing invokes it asynchronously, so Lambda would never use a dead-letter queue.",
    });
  }
}
