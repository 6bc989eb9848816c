import type { Environment } from "aws-cdk-lib";
import type { CorsPreflightOptions } from "aws-cdk-lib/aws-apigatewayv2";
import type { Connections, IConnectable } from "aws-cdk-lib/aws-ec2";
import type { IGrantable } from "aws-cdk-lib/aws-iam";
import { RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct, type IConstruct } from "constructs";
import type { PerTier } from "../src/config.ts";
import { appSchedules } from "../src/core/schedules/app-schedule.ts";
import { appTriggers } from "../src/core/schedules/define-trigger.ts";
import { toCatalog } from "../src/core/task/catalog.ts";
import { acceptedKey } from "../src/doctor/accepted.ts";
import { packageVersion } from "../src/installation.ts";
import { openApiDocument } from "../src/openapi/document.ts";
import type { App } from "../src/task-files.ts";
import type { ThrottleOptions } from "./api.ts";
import { type ConcurrencyOptions, capacityOf, checkTimeouts, type TierOptions } from "./capacity.ts";
import { type ContainerOptions, type Containers, checkContainerTypes, containersOf } from "./containers.ts";
import { DataStack } from "./data-stack.ts";
import { reviewAtSynth } from "./doctor.ts";
import type { DomainOptions } from "./domain.ts";
import type { ExistingBus } from "./event-bus.ts";
import type { HandlerOptions } from "./handler-options.ts";
import { loadTasks } from "./load-tasks.ts";
import { connectionsOf } from "./network.ts";
import type { AlarmOptions } from "./observability/alarm-options.ts";
import { checkedNumbers } from "./own-numbers.ts";
import { acceptedBy, present, timesOf } from "./pipeline-options.ts";
import { type ProfileName, sharesOf } from "./profile.ts";
import { ServiceStack } from "./service-stack.ts";
import { checkAlarmReceivers, checkStage, removalPolicyOf } from "./stage.ts";
import { type Access, grantAccess } from "./task-role.ts";
import { type JwtOptions, jwtSettings, type LimitOptions, limitSettings, listSettings } from "./tenancy.ts";
import { checkTracing, type TracingOptions } from "./tracing.ts";

export interface TaskPipelineProps extends HandlerOptions, ConcurrencyOptions {
  /**
   * Name of the deployment: lower case letters, digits and `-`. `cdk destroy` deletes `dev` completely. Any other stage keeps
   * its data and logs, has termination protection, and needs a receiver for its alarms.
   * @default dev
   */
  readonly stage?: string;
  /**
   * AWS account and Region of both stacks. Needed with resources of stacks that name theirs, such as a VPC that was looked up.
   * @default - those of the credentials at deployment
   */
  readonly env?: Environment;
  /**
   * Folder of the task types: one file for each, whose name is the type's; and `schedules.ts` and `triggers.ts`, if the app has schedules or
   * triggers. The path starts at the working directory, which for the CDK is the folder of `cdk.json`. The catalogue that the API accepts, the workers'
   * bundle and the schedules all come from this folder.
   * @default tasks
   */
  readonly tasks?: string;
  /**
   * Concurrency, batches and memory of each tier.
   * @default - 500 concurrent worker invocations in total; see `TierOptions`
   */
  readonly tiers?: Partial<PerTier<TierOptions>>;
  /**
   * Size of the account. `small` is for a new account, which may have only 10 concurrent invocations: each tier runs at most two
   * batches at once, and the API is answered while all tiers are busy. `npx offload doctor --live` reads the account's limit.
   * @default standard
   */
  readonly profile?: ProfileName;
  /**
   * Container workers on Fargate, for task types with `runsOn: "container"`. They follow the backlog, down to zero.
   * @default - none: such task types are refused
   */
  readonly containers?: ContainerOptions;
  /**
   * Memory of the workers in MB. The CPU share grows with it.
   * @default 512
   */
  readonly workerMemorySize?: number;
  /**
   * Files and folders that tasks read at run time, by their path in the bundle: `{ "fonts": "tasks/fonts" }` copies that
   * folder of the project. Imported files need no entry.
   * @default - none
   */
  readonly workerFiles?: Readonly<Record<string, string>>;
  /**
   * Rate limits of the API. Above them it answers 429.
   * @default - 500 requests per second, burst of 1000
   */
  readonly throttle?: ThrottleOptions;
  /**
   * CORS options: web pages that may call the API, and upload files to the bucket.
   * @default - no pages of other origins
   */
  readonly cors?: CorsPreflightOptions;
  /**
   * Domain of the API, with TLS 1.2 or later. The output `ApiUrl` then has its name, and the name that API Gateway creates is
   * turned off, so give clients the new URL first.
   * @default - the name that API Gateway creates
   */
  readonly domain?: DomainOptions;
  /**
   * Sends an event to EventBridge at each end of a task. `true`: to a new event bus with the deployment's name. `{ busName }`: to an
   * event bus that exists already, in the same account and Region, by its name or ARN.
   * @default - no events
   */
  readonly events?: true | ExistingBus;
  /**
   * OIDC issuer whose tokens the API accepts, in addition to API keys.
   * @default - none
   */
  readonly jwt?: JwtOptions;
  /**
   * Limits of tenants, and of the tiers' depth. Operators change them with `npx offload limits`.
   * @default - no limits of tenants; limits of the tiers' depth, see `LimitOptions`
   */
  readonly limits?: LimitOptions;
  /**
   * Number of index partitions of each submitter's list of tasks, and of each tenant's lists if it is more than 4; at most 64.
   * A partition accepts 1,000 submits a second. A list reads all its partitions, also those of an earlier, larger number.
   * @default 1: 1,000 submits a second of a submitter, 4,000 of a tenant
   */
  readonly listShards?: number;
  /**
   * E-mail address that gets a message when an alarm starts or ends. The recipient must confirm the subscription once.
   * @default - none: subscribe to the topic yourself
   */
  readonly alarmEmail?: string;
  /**
   * ARN of an SNS topic for alarms. Its policy must let CloudWatch publish.
   * @default - the deployment has its own topic
   */
  readonly alarmTopicArn?: string;
  /**
   * Thresholds of alarms, and the URL of the runbook. `false` creates no alarms, which saves about $9 a month. Only `dev` may
   * turn them off.
   * @default - see `AlarmOptions`
   */
  readonly alarms?: AlarmOptions | false;
  /**
   * Creates a dashboard, named after the deployment. AWS charges for more than three dashboards of an account.
   * @default true
   */
  readonly dashboard?: boolean;
  /**
   * Lets clients open channels, which tell them of tasks by WebSocket. Without channels this costs nothing but the API's existence.
   * @default false
   */
  readonly push?: boolean;
  /**
   * Hosts and ports that webhooks may reach although they are not public, such as `receiver.internal:8443`. Webhooks are sent by a function
   * outside of your VPC.
   * @default - only public addresses, by https
   */
  readonly callbackHosts?: readonly string[];
  /**
   * Sends the functions' spans to X-Ray. Log lines contain the trace id even without tracing.
   * @default - no tracing
   */
  readonly tracing?: TracingOptions;
  /**
   * Retention of logs.
   * @default RetentionDays.ONE_MONTH
   */
  readonly logRetention?: RetentionDays;
  /**
   * Registers the probe types, which fail and crash on request. For tests of a deployment.
   * @default false
   */
  readonly probes?: boolean;
  /**
   * Factor for the waits between attempts; the shortest wait is a second. For tests.
   * @default 1
   */
  readonly timeScale?: number;
}

/**
 * A deployment of Offload: a data stack with the table, the bucket and the queues, and a service stack with the code.
 * Outputs: `TableName` of the data stack; `ApiUrl`, `CreateKeyCommand` and `DashboardUrl` of the service stack;
 * `ApiDomainTarget` with a `domain`, and `ChannelUrl` with `push`.
 * @example
 * new TaskPipeline(app, "Offload", { stage: "prod", tasks: "tasks", alarmEmail: "team@example.com" });
 */
export class TaskPipeline extends Construct implements IConnectable {
  readonly data: DataStack;
  readonly service: ServiceStack;
  /** The roles of all workers, for grants of the CDK: `bucket.grantRead(pipeline.taskRole)`. No other function gets them. */
  readonly taskRole: IGrantable;

  constructor(scope: Construct, id: string, props: TaskPipelineProps) {
    super(scope, id);
    const { stage = "dev", tasks = "tasks", tiers = {}, alarms = {}, alarmEmail, alarmTopicArn, tracing } = props;
    checkStage(stage);
    checkAlarmReceivers(stage, { email: alarmEmail, topicArn: alarmTopicArn, alarms });
    if (tracing !== undefined) checkTracing(tracing);
    const capacity = capacityOf(sharesOf(props.profile ?? "standard"), tiers, checkedNumbers(props));
    const { types, schedules, triggers, environment } = this.load(tasks, props.probes ?? false);
    const catalog = toCatalog(types);
    checkTimeouts(catalog, tiers);
    const containers = props.containers && containersOf(props.containers);
    checkContainerTypes(catalog, containers);
    const env = props.env === undefined ? {} : { env: props.env };
    const name = `${id}-${stage}`;
    const fireName = `${name}-fire`;
    const wakeName = `${name}-wake`;
    this.data = this.addData(name, { fireName, wakeName, containers }, env, props);
    if (triggers.length > 0) this.data.scheduling.allowTriggers(name);
    this.service = new ServiceStack(this, "Service", {
      stage,
      stackName: `${name}-service`,
      ...env,
      deployment: name,
      fireName,
      wakeName,
      containers,
      data: this.data,
      catalog: JSON.stringify(catalog),
      openApi: JSON.stringify(openApiDocument(catalog, packageVersion())),
      schedules: appSchedules(schedules, catalog),
      triggers: appTriggers(triggers, catalog, name),
      version: packageVersion(),
      logs: { retention: props.logRetention ?? RetentionDays.ONE_MONTH, removalPolicy: removalPolicyOf(stage) },
      workers: {
        memorySize: props.workerMemorySize ?? 512,
        files: { tasks, copies: props.workerFiles ?? {} },
        probes: props.probes ?? false,
        declared: environment,
        handlers: props,
      },
      capacity,
      timeScale: props.timeScale ?? 1,
      ...jwtSettings(props.jwt),
      limitSettings: limitSettings(props.limits),
      listSettings: listSettings(props.listShards),
      observability: { alarms, dashboard: props.dashboard ?? true, ...present({ alarmEmail, alarmTopicArn }) },
      ...present({ throttle: props.throttle, cors: props.cors, domain: props.domain, tracing }),
      tell: { push: props.push ?? false, callbackHosts: props.callbackHosts ?? [] },
    });
    this.taskRole = this.service.taskRole;
    this.service.templateOptions.metadata = {
      [acceptedKey]: acceptedBy(catalog, { schedules, triggers }, capacity, props.profile),
    };
    reviewAtSynth(this, types);
  }

  /**
   * Traffic from and to the workers: `pipeline.connections.allowToDefaultPort(database)`.
   * @throws Error when the workers are in no VPC
   */
  get connections(): Connections {
    return connectionsOf(this.service.network);
  }

  /**
   * Grants handlers access to a bucket, table, queue, secret, topic, or any other resource with the CDK's usual grants.
   * @throws TypeError when the resource has no such access
   * @example pipeline.grantToTasks(invoices, "readWrite");
   */
  grantToTasks(resource: IConstruct, access: Access): void {
    grantAccess(this.taskRole, resource, access);
  }

  /**
   * Allows a program to submit directly, with `offload/direct` and its AWS credentials. A Lambda function also gets the environment
   * variables that the client reads. The program may then submit for every tenant.
   */
  grantSubmit(grantee: IGrantable): void {
    this.service.direct.grant(grantee);
  }

  /** Environment variables for a program that submits directly and is not a Lambda function of this app. */
  get submitSettings(): Readonly<Record<string, string>> {
    return this.service.direct.environment;
  }

  private addData(
    deployment: string,
    { fireName, wakeName, containers }: { fireName: string; wakeName: string; containers: Containers | undefined },
    env: { env?: Environment },
    props: TaskPipelineProps,
  ): DataStack {
    const { stage = "dev", tiers = {}, cors, events } = props;
    return new DataStack(this, "Data", {
      stage,
      stackName: `${deployment}-data`,
      ...env,
      fireName,
      deployment,
      times: timesOf(tiers),
      ...present({ cors, events }),
      ...(containers !== undefined && { containers: { wakeName: containers.maxTasks > 0 ? wakeName : undefined } }),
    });
  }

  /** Loads the task types, the schedules, the triggers and the environment of a folder. A method of its own for tests of this construct. */
  protected load(tasks: string, probes: boolean): App {
    return loadTasks(tasks, probes);
  }
}
