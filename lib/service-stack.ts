import { CfnOutput, Duration } from "aws-cdk-lib";
import type { CorsPreflightOptions } from "aws-cdk-lib/aws-apigatewayv2";
import type { Construct, IDependable } from "constructs";
import { tiers } from "../src/core/model/words.ts";
import type { AppSchedule } from "../src/core/schedules/app-schedule.ts";
import type { AppTrigger } from "../src/core/schedules/trigger.ts";
import type { TaskEnvironment } from "../src/core/task/environment.ts";
import { packageVersion } from "../src/installed/installation.ts";
import {
  apiTimeoutSeconds,
  type FunctionName,
  type PerTier,
  type SettingTexts,
  statusTimeoutSeconds,
} from "../src/settings/config.ts";
import {
  allowApiKeys,
  allowLists,
  allowObjects,
  allowOperate,
  allowSubmit,
  allowTable,
  allowTableKeys,
} from "./access.ts";
import { Api, type ThrottleOptions } from "./api.ts";
import { addFire, addRedrive, addWake, type FunctionOptions } from "./background.ts";
import { type Capacity, checkCapacity } from "./capacity.ts";
import { addConsole } from "./console.ts";
import type { ContainerWorkers } from "./container-workers.ts";
import type { Containers } from "./containers.ts";
import type { DataStack } from "./data-stack.ts";
import { DirectSubmit } from "./direct-submit.ts";
import { Dispatch } from "./dispatch.ts";
import type { DomainOptions } from "./domain.ts";
import type { MadeText, Texts } from "./esbuild.ts";
import { addRules, ruleTexts, scheduleTexts } from "./fire.ts";
import { type CommonProps, type LogOptions, PipelineFunction } from "./function.ts";
import type { Network } from "./network.ts";
import { callbackSettings, Notify, type TellOptions, tellSettings } from "./notify.ts";
import { PipelineMetrics } from "./observability/metrics.ts";
import { addObservability, type Observability, type ObservabilityOptions } from "./observability/observability.ts";
import { title } from "./per-tier.ts";
import { PipelineStack, type Place, placeOf } from "./pipeline-stack.ts";
import { Push } from "./push.ts";
import { allowTaskLogs } from "./task-logs.ts";
import type { TaskRole } from "./task-role.ts";
import { numberText } from "./tokens.ts";
import type { TracingOptions } from "./tracing.ts";
import { addWorkers, equipWorkers, type WorkerOptions } from "./workers.ts";

/** The parts of the service that follow from the task files. */
export interface AppParts {
  /** The catalogue of task types, as JSON. */
  readonly catalog: string;
  /** The OpenAPI document, as JSON. */
  readonly openApi: MadeText;
  readonly schedules: readonly AppSchedule[];
  readonly triggers: readonly AppTrigger[];
  /** Declared environment variables and secrets of handlers. */
  readonly environment: TaskEnvironment;
}

export interface ServiceStackProps extends Place {
  readonly stackName: string;
  /** Name of the deployment, for its metrics, alarms, dashboard and queries. */
  readonly deployment: string;
  readonly stage: string;
  /** The stack with the table, the queues and the schedules. */
  readonly data: DataStack;
  /** Waits for the parts that follow from the task files. These are loaded while the stack is made. */
  readonly app: () => AppParts;
  /** Version that `/health` returns. */
  readonly version: string;
  /** Retention of the log groups. */
  readonly logs: LogOptions;
  /** @default - the name that CloudFormation makes */
  readonly accessLogName?: string;
  /** Name of the fire function, which schedules invoke. */
  readonly fireName: string;
  /** Multiplies the workers' retry waits. */
  readonly timeScale: number;
  /** Options of the workers. */
  readonly workers: WorkerOptions;
  /** Settings of the tokens that the authorizer accepts, in addition to API keys. */
  readonly tokenSettings: SettingTexts;
  /** Settings of the console's sign-in. */
  readonly consoleSettings: SettingTexts;
  /** Limits of submits. */
  readonly limitSettings: SettingTexts;
  /** Number of shards of the lists. */
  readonly listSettings: SettingTexts;
  /** @default - 500 requests per second, burst of 1000 */
  readonly throttle?: ThrottleOptions;
  /** @default - no CORS: web pages of other origins may not call the API */
  readonly cors?: CorsPreflightOptions;
  /** @default - the name that API Gateway creates */
  readonly domain?: DomainOptions;
  /** Concurrency of the event sources. */
  readonly capacity: Capacity;
  /** Options of alarms and dashboard. */
  readonly observability: ObservabilityOptions;
  /** @default - no tracing */
  readonly tracing?: TracingOptions;
  /** The programs that are told of tasks. */
  readonly tell: TellOptions;
  /** Container workers. Undefined: the deployment has none. */
  readonly containers: Containers | undefined;
  /** Name of the function that starts a container. */
  readonly wakeName: string;
}

const apiTimeout = Duration.seconds(apiTimeoutSeconds);

/** Resources that deployments of code replace: the API, the functions with their permissions, and the alarms. */
export class ServiceStack extends PipelineStack {
  /** The roles of all workers. */
  readonly taskRole: TaskRole;
  /** VPC of the workers. Undefined: none. */
  readonly network: Network | undefined;
  /** Submits of programs with AWS credentials, without the API. */
  readonly direct: DirectSubmit;
  /** Container workers on Fargate. Undefined: the deployment has none. */
  readonly containers: ContainerWorkers | undefined;
  /** Channels. Undefined: the deployment has none. */
  readonly push: Push | undefined;
  readonly api: Api;
  readonly observability: Observability;
  readonly metrics: PipelineMetrics;
  private readonly notify: Notify;
  private readonly props: ServiceStackProps;
  private readonly data: DataStack;
  private readonly dispatch: Dispatch;
  private readonly common: CommonProps;
  /** All functions, by their names in alarms. */
  readonly functions: Record<string, PipelineFunction> = {};
  /** Key that signs cursors. A stack's id ends in a secret random part, and never changes. */
  private readonly cursorKey = this.stackId;

  constructor(scope: Construct, id: string, props: ServiceStackProps) {
    const { data, stage, stackName, logs, deployment, tracing } = props;
    super(scope, id, {
      stackName,
      ...placeOf(props),
      description: `Offload ${stage}: service`,
      // A failed first deployment can be repeated only without it: the CDK sets it before it creates a resource, and
      // then cannot delete the stack. This stack has no data.
      terminationProtection: false,
    });
    data.names.useIn(this);
    checkCapacity(this, props.capacity);
    this.props = props;
    this.common = { logs, service: deployment, ...(tracing !== undefined && { tracing }) };
    this.data = data;
    this.dispatch = new Dispatch(data, props.listSettings, tellSettings(data, props.tell));
    const timeScale = numberText(props.timeScale);
    const workersProps = {
      ...{ common: this.common, data, dispatch: this.dispatch, timeScale, apiUrl: () => this.api.url },
      options: props.workers,
      tiers: props.capacity.tiers,
      containers: props.containers,
      declared: () => props.app().environment,
    };
    const made = addWorkers(this, workersProps);
    const { workers, taskRole, network, containers } = made;
    this.containers = containers;
    this.taskRole = taskRole;
    this.network = network;
    for (const tier of tiers) this.functions[`${tier}-worker`] = workers[tier];
    const background = { data, dispatch: this.dispatch, capacity: props.capacity, timeScale };
    const add = (name: FunctionName, options: FunctionOptions) => this.addFunction(name, options);
    addRedrive(add, background);
    if (containers !== undefined) addWake(add, containers, props.wakeName);
    const { fireName, limitSettings } = props;
    addFire(add, { ...background, limitSettings, fireName });
    this.push = this.addPush();
    const notify = { ...background, deployment, tell: props.tell, push: this.push, ...this.common };
    this.notify = new Notify(this, "Notify", { ...notify, maxConcurrency: props.capacity.notify });
    this.functions.notify = this.notify;
    const api = this.addApi();
    const after = [...Object.values(workers).map((worker) => worker.function), ...(containers?.dependables ?? [])];
    this.updateSubmittersAfter(after);
    const app = props.app();
    equipWorkers(this, workersProps, made);
    this.bundleTexts(app);
    addRules(this.fire, data, { ...app, deployment, version: props.version });
    this.direct = new DirectSubmit(this, { ...props, ...app, ...made, settings: this.submitSettings, after });
    this.api = api;
    allowTaskLogs(this.functions, containers);
    this.metrics = new PipelineMetrics(deployment);
    this.observability = this.watch(api, workers, app);
    this.addOutputs(api.url, data.table.tableName);
  }

  /** The function that rules invoke. */
  get fire(): PipelineFunction {
    const { fire } = this.functions;
    if (fire === undefined) throw new Error("the function fire was not added");
    return fire;
  }

  /** Adds alarms, dashboard and saved queries. */
  private watch({ api, accessLog }: Api, workers: PerTier<PipelineFunction>, { schedules }: AppParts): Observability {
    const { data, functions, containers, metrics } = this;
    const { deployment: name, observability } = this.props;
    const watchedSchedules = schedules.filter(({ alarm }) => alarm).map((schedule) => schedule.name);
    return addObservability(
      this,
      { name, data, functions, workers, containers, api, accessLog, metrics, watchedSchedules },
      observability,
    );
  }

  /** The lines that `cdk deploy` prints last: where the API is, and the next step. */
  private addOutputs(apiUrl: string, table: string): void {
    new CfnOutput(this, "ApiUrl", { value: apiUrl });
    const value = `npx offload keys create --table ${table} --tenant acme --role operator`;
    new CfnOutput(this, "CreateKeyCommand", { value });
    new CfnOutput(this, "Release", { value: packageVersion() });
  }

  private addPush(): Push | undefined {
    const { stackName: name, tell } = this.props;
    if (!tell.push) return undefined;
    const push = new Push(this, "Push", { ...this.common, name, table: this.data.table });
    this.functions.socket = push.socket;
    return push;
  }

  /** Adds the API and only those functions that have a route in `src/api/http/routes.ts`. */
  private addApi(): Api {
    const { logs, accessLogName, throttle, cors, domain, stackName } = this.props;
    return new Api(this, "Api", {
      name: stackName,
      logs,
      ...(accessLogName !== undefined && { accessLogName }),
      authorizer: this.addAuthorizer(),
      handlers: {
        submit: () => this.addSubmit(),
        status: () => this.addStatus(),
        control: () => this.addControl(),
        console: () => addConsole((...made) => this.addFunction(...made), this.props, this.push),
      },
      ...(throttle !== undefined && { throttle }),
      ...(cors !== undefined && { cors }),
      ...(domain !== undefined && { domain }),
    });
  }

  private addSubmit(): PipelineFunction {
    const submit = this.addFunction("submit", {
      description: "accepts new tasks",
      settings: this.submitSettings,
      files: "later",
    });
    allowSubmit(submit, this.data);
    return submit;
  }

  private addStatus(): PipelineFunction {
    const { table, bucket } = this.data;
    const { capacity, listSettings, version } = this.props;
    const status = this.addFunction("status", {
      description: "reads tasks, lists and schedules",
      timeout: Duration.seconds(statusTimeoutSeconds),
      settings: {
        table: table.tableName,
        bucket: bucket.bucketName,
        cursorKey: this.cursorKey,
        version,
        waits: String(capacity.waits),
        ...listSettings,
      },
      files: "later",
    });
    allowTable(status, table, ["GetItem", "Query"]);
    allowLists(status, table);
    // The signed URL of a result has the permissions of this function.
    allowObjects(status, bucket, "status");
    if (capacity.waits > 0) allowTableKeys(status, table, ["UpdateItem"], ["waits#*"]);
    return status;
  }

  private addControl(): PipelineFunction {
    const { firings } = this.data.scheduling;
    const control = this.addFunction("control", {
      description: "cancels, retries and replays tasks, manages schedules",
      settings: {
        ...this.submitSettings,
        ...this.notify.keySettings,
        firingsUrl: firings.queueUrl,
        ...this.push?.settings,
      },
      files: "later",
    });
    const actions = ["GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"] as const;
    allowTable(control, this.data.table, actions, { writesApiKeys: true });
    allowLists(control, this.data.table);
    allowObjects(control, this.data.bucket, "control");
    allowOperate(control, this.data);
    this.dispatch.allowTell(control);
    this.notify.allowKey(control);
    this.data.scheduling.allowManage(control);
    return control;
  }

  private addAuthorizer(): PipelineFunction {
    const { table } = this.data;
    const authorizer = this.addFunction("authorizer", {
      description: "authenticates requests",
      settings: { table: table.tableName, ...this.props.tokenSettings },
    });
    allowApiKeys(authorizer, table);
    return authorizer;
  }

  /**
   * Functions that submit are updated after the workers, so that no task has a type or version that workers do not
   * know.
   */
  private updateSubmittersAfter(workers: readonly IDependable[]): void {
    for (const name of ["submit", "control", "fire"] satisfies FunctionName[]) {
      this.functions[name]?.function.node.addDependency(...workers);
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

  private get submitSettings(): SettingTexts {
    return { ...this.dispatch.settings, ...this.props.limitSettings, ...callbackSettings(this.props.tell) };
  }

  /** Bundles the functions that have files which follow from the task files. */
  private bundleTexts({ catalog, openApi, schedules, triggers }: AppParts): void {
    const rules = { schedules, triggers };
    const types = { "catalog.json": catalog };
    const texts = {
      submit: types,
      status: { "openapi.json": openApi, ...scheduleTexts(rules) },
      control: { ...types, ...scheduleTexts(rules) },
      fire: { ...types, ...ruleTexts(rules) },
    } satisfies Partial<Record<FunctionName, Texts>>;
    for (const [name, files] of Object.entries(texts)) this.functions[name]?.bundle({ texts: files });
  }
}
