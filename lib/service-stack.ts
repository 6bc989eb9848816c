import { CfnOutput, Duration, Stack } from "aws-cdk-lib";
import type { CorsPreflightOptions } from "aws-cdk-lib/aws-apigatewayv2";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import type { FunctionName, PerTier, SettingTexts } from "../src/config.ts";
import { internalOptions } from "../src/core/dead-letters/internal-types.ts";
import type { AppSchedule } from "../src/core/schedules/app-schedule.ts";
import type { Tier } from "../src/core/tier.ts";
import { allowAges, allowLists, allowMeasure, allowReceive, allowSend, allowTable } from "./access.ts";
import { Api, type ThrottleOptions } from "./api.ts";
import { addAppSchedules } from "./app-schedules.ts";
import { checkCapacity, firingConcurrency, redriveConcurrency, type TierOptions } from "./capacity.ts";
import type { DataStack } from "./data-stack.ts";
import type { BundleFiles } from "./esbuild.ts";
import { type LogOptions, PipelineFunction, type PipelineFunctionProps } from "./function.ts";
import { PipelineMetrics } from "./observability/metrics.ts";
import { addObservability, type ObservabilityOptions } from "./observability/observability.ts";
import { perTier, title } from "./per-tier.ts";
import { fireTimeout, redriveTimeout } from "./queue.ts";
import { isDisposable } from "./stage.ts";
import { Worker } from "./tier.ts";
import type { TracingOptions } from "./tracing.ts";

export interface ServiceStackProps {
  readonly stackName: string;
  /** The deployment's name: of its metrics, alarms, dashboard and queries. */
  readonly deployment: string;
  readonly stage: string;
  /** What the functions work on. */
  readonly data: DataStack;
  /** The catalogue of task types, as JSON. */
  readonly catalog: string;
  /** The app's own schedules. */
  readonly schedules: readonly AppSchedule[];
  /** What `/health` says is running. */
  readonly version: string;
  /** How log groups keep their lines. */
  readonly logs: LogOptions;
  /** Name of the fire function, which schedules are to invoke. */
  readonly fireName: string;
  /** Whether the workers know the probe types. */
  readonly probes: boolean;
  /** Multiplies the workers' retry waits. */
  readonly timeScale: number;
  /** How much of the account each tier may take. */
  readonly tiers: Partial<PerTier<TierOptions>>;
  /** Memory of the workers, in MB. */
  readonly workerMemorySize: number;
  /** Files that go beside the workers' code. */
  readonly workerFiles: BundleFiles;
  /** Whose tokens the authorizer takes beside API keys. */
  readonly tokenSettings: SettingTexts;
  /** What bounds submits. */
  readonly limitSettings: SettingTexts;
  /** @default - 500 requests a second, 1000 at once */
  readonly throttle?: ThrottleOptions;
  /** @default - browsers of other origins may not call the API */
  readonly cors?: CorsPreflightOptions;
  /** Invocations at once that the account has. */
  readonly accountConcurrency: number;
  /** What tells people how it goes. */
  readonly observability: ObservabilityOptions;
  /** @default - spans go nowhere */
  readonly tracing?: TracingOptions;
}

/** What all functions have in common. */
type Common = Pick<PipelineFunctionProps, "logs" | "service" | "tracing">;

type FunctionOptions = Omit<PipelineFunctionProps, "name" | "timeout" | keyof Common> & { readonly timeout?: Duration };

/** The tier of replays, discards and sweeps of dead letters, which are tasks themselves. */
const internalTier = internalOptions.sweep.priority;

/** Within the 30 s that the gateway waits. */
const apiTimeout = Duration.seconds(15);

/** What a deployment of code replaces: the API, the functions, each with what it may reach, and the alarms. */
export class ServiceStack extends Stack {
  private readonly props: ServiceStackProps;
  private readonly data: DataStack;
  private readonly queues: readonly IQueue[];
  private readonly dlqs: readonly IQueue[];
  /** Settings of functions that put work into tiers, at once or by a schedule. */
  private readonly dispatching: SettingTexts;
  private readonly common: Common;
  /** Every function, by the name that alarms have of it. */
  private readonly functions: Record<string, PipelineFunction> = {};
  private readonly timeScale: string;
  /** Signs cursors. A stack's id ends in a random part that no outsider sees, and stays as long as the stack does. */
  private readonly cursorKey = this.stackId;

  constructor(scope: Construct, id: string, props: ServiceStackProps) {
    const { data, stage, stackName, logs, deployment, tracing } = props;
    super(scope, id, {
      stackName,
      description: `Offload ${stage}: service`,
      terminationProtection: !isDisposable(stage),
    });
    checkCapacity(this, props.tiers, props.accountConcurrency);
    this.props = props;
    this.common = { logs, service: deployment, ...(tracing !== undefined && { tracing }) };
    this.data = data;
    this.timeScale = String(props.timeScale);
    this.queues = Object.values(data.queues);
    this.dlqs = Object.values(data.dlqs);
    this.dispatching = {
      table: data.table.tableName,
      queueUrls: perTier((tier) => data.queues[tier].queueUrl),
      dlqUrls: perTier((tier) => data.dlqs[tier].queueUrl),
      ...data.scheduling.settings,
    };
    const workers = perTier((tier) => this.addWorker(tier));
    this.addRedrive();
    this.addFire();
    const api = this.addApi();
    this.updateAfter(workers);
    const watched = {
      name: deployment,
      data,
      functions: this.functions,
      workers,
      api: api.api,
      accessLog: api.accessLog,
    };
    addObservability(this, { ...watched, metrics: new PipelineMetrics(deployment) }, props.observability);
    new CfnOutput(this, "ApiUrl", { value: api.url });
  }

  /** Behind the API are the functions that a route of `src/http/routes.ts` leads to, and no others. */
  private addApi(): Api {
    const { logs, throttle, cors, stackName } = this.props;
    return new Api(this, "Api", {
      name: stackName,
      logs,
      authorizer: this.addAuthorizer(),
      handlers: {
        submit: () => this.addSubmit(),
        status: () => this.addStatus(),
        control: () => this.addControl(),
      },
      ...(throttle !== undefined && { throttle }),
      ...(cors !== undefined && { cors }),
    });
  }

  private addSubmit(): PipelineFunction {
    const submit = this.addFunction("submit", {
      description: "takes tasks in",
      settings: { ...this.dispatching, ...this.props.limitSettings },
      files: this.catalogFile,
    });
    allowTable(submit, this.data.table, ["GetItem", "PutItem", "UpdateItem"]);
    // A count of tasks in progress that refuses for long is compared with the records.
    allowLists(submit, this.data.table);
    allowMeasure(submit, this.queues);
    this.allowDispatch(submit);
    return submit;
  }

  private addStatus(): PipelineFunction {
    const { table } = this.data;
    const status = this.addFunction("status", {
      description: "answers what became of tasks",
      settings: { table: table.tableName, cursorKey: this.cursorKey, version: this.props.version },
    });
    allowTable(status, table, ["GetItem", "Query"]);
    allowLists(status, table);
    return status;
  }

  private addControl(): PipelineFunction {
    const { firings } = this.data.scheduling;
    const control = this.addFunction("control", {
      description: "cancels, retries and replays tasks, keeps schedules",
      settings: { ...this.dispatching, ...this.props.limitSettings, firingsUrl: firings.queueUrl },
      files: this.catalogFile,
    });
    allowTable(control, this.data.table, ["GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"]);
    allowLists(control, this.data.table);
    allowMeasure(control, [...this.queues, ...this.dlqs]);
    allowAges(control);
    allowSend(control, [...this.queues, firings]);
    this.data.scheduling.allowManage(control);
    return control;
  }

  private addAuthorizer(): PipelineFunction {
    const { table } = this.data;
    const authorizer = this.addFunction("authorizer", {
      description: "says whose a request is",
      settings: { table: table.tableName, ...this.props.tokenSettings },
    });
    allowTable(authorizer, table, ["GetItem", "UpdateItem"]);
    return authorizer;
  }

  private addWorker(tier: Tier): PipelineFunction {
    const { data, props } = this;
    const worker = new Worker(this, `${title(tier)}Worker`, {
      ...this.common,
      tier,
      queue: data.queues[tier],
      options: props.tiers[tier] ?? {},
      memorySize: props.workerMemorySize,
      files: props.workerFiles,
      settings: {
        ...this.dispatching,
        probes: props.probes ? "1" : "0",
        timeScale: this.timeScale,
      },
    });
    allowTable(worker, data.table, ["GetItem", "PutItem", "UpdateItem", "DeleteItem"]);
    allowLists(worker, data.table);
    this.allowDispatch(worker);
    allowSend(worker, [data.dlqs[tier]]);
    if (tier === internalTier) {
      allowReceive(worker, this.dlqs);
      allowMeasure(worker, this.dlqs);
    }
    this.functions[`${tier}-worker`] = worker;
    return worker;
  }

  private addRedrive(): void {
    const { table, redriveQueue } = this.data;
    const redrive = this.addFunction("redrive", {
      description: "decides about messages that a tier gave up on",
      settings: { ...this.dispatching, timeScale: this.timeScale },
      timeout: redriveTimeout,
      recursive: true,
    });
    redrive.takeFrom(redriveQueue, { maxConcurrency: redriveConcurrency });
    allowTable(redrive, table, ["GetItem", "PutItem", "UpdateItem"]);
    allowSend(redrive, this.dlqs);
    this.allowDispatch(redrive);
  }

  private addFire(): void {
    const fire = this.addFunction("fire", {
      description: "dispatches tasks whose wait is over, submits those of schedules",
      settings: this.dispatching,
      files: { texts: { ...this.catalogFile.texts, "schedules.json": JSON.stringify(this.props.schedules) } },
      timeout: fireTimeout,
      functionName: this.props.fireName,
      // EventBridge Scheduler invokes asynchronously: a failed firing is Lambda's to retry, and to give up on.
      deadLetterQueue: this.data.scheduling.firings,
    });
    fire.takeFrom(this.data.scheduling.firings, { maxConcurrency: firingConcurrency, batchSize: 1 });
    allowTable(fire, this.data.table, ["GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"]);
    allowSend(fire, this.queues);
    this.data.scheduling.allowManage(fire);
    addAppSchedules(fire, this.props.schedules, this.data.scheduling);
  }

  /** Whoever submits is replaced after the workers: nothing is of a type, or a version, that these do not know yet. */
  private updateAfter(workers: PerTier<PipelineFunction>): void {
    for (const name of ["submit", "control", "fire"] satisfies FunctionName[]) {
      this.functions[name]?.function.node.addDependency(...Object.values(workers).map((worker) => worker.function));
    }
  }

  private addFunction(name: FunctionName, props: FunctionOptions): PipelineFunction {
    const description = `Offload: ${props.description}`;
    const made = new PipelineFunction(this, title(name), {
      timeout: apiTimeout,
      ...this.common,
      name,
      ...props,
      description,
    });
    this.functions[name] = made;
    return made;
  }

  private get catalogFile(): BundleFiles {
    return { texts: { "catalog.json": this.props.catalog } };
  }

  /** Work may go into any tier, and into a schedule where its wait is too long for a queue. */
  private allowDispatch(who: PipelineFunction): void {
    allowSend(who, this.queues);
    this.data.scheduling.allowCreate(who);
  }
}
