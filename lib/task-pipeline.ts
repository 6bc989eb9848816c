import { Duration } from "aws-cdk-lib";
import type { CorsPreflightOptions } from "aws-cdk-lib/aws-apigatewayv2";
import type { IGrantable } from "aws-cdk-lib/aws-iam";
import { RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import type { PerTier } from "../src/config.ts";
import { type Catalog, toCatalog } from "../src/core/catalog.ts";
import { type AppSchedule, appSchedules } from "../src/core/schedules/app-schedule.ts";
import { type Accepted, acceptedKey } from "../src/doctor/accepted.ts";
import { packageVersion } from "../src/installation.ts";
import type { App } from "../src/task-files.ts";
import type { ThrottleOptions } from "./api.ts";
import { type TierOptions, usualAccountConcurrency } from "./capacity.ts";
import { DataStack } from "./data-stack.ts";
import { reviewAtSynth } from "./doctor.ts";
import { loadTasks } from "./load-tasks.ts";
import type { AlarmOptions } from "./observability/alarm-options.ts";
import { perTier } from "./per-tier.ts";
import { ServiceStack } from "./service-stack.ts";
import { checkAlarmReceivers, checkStage, removalPolicyOf } from "./stage.ts";
import { type JwtOptions, type LimitOptions, limitSettings, listSettings, tokenSettings } from "./tenancy.ts";
import { checkTracing, type TracingOptions } from "./tracing.ts";

export interface TaskPipelineProps {
  /**
   * Name of the deployment: lower case letters, digits and `-`. `cdk destroy` deletes `dev` completely. Any other stage keeps
   * its data and logs, has termination protection, and needs a receiver for its alarms.
   * @default dev
   */
  readonly stage?: string;
  /**
   * Folder of the task types: one file for each, whose name is the type's; and `schedules.ts`, if the app has schedules. The path
   * starts at the working directory, which for the CDK is the folder of `cdk.json`. The catalogue that the API accepts, the workers'
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
   * Limit of concurrent invocations of the account in this Region, over all its functions. The tiers must fit into it, so
   * that no tier can take concurrency that another needs.
   * @default 1000
   */
  readonly accountConcurrency?: number;
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
   * CORS options: web pages that may call the API.
   * @default - no pages of other origins
   */
  readonly cors?: CorsPreflightOptions;
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
 * A deployment of Offload: a data stack with the table and the queues, and a service stack with the code.
 * Outputs: `ApiUrl` and `DashboardUrl`; `TableName`, `RedriveDlqArn` and `FiringsDlqArn`; and for each tier
 * `CriticalQueueUrl`, `CriticalDlqUrl` and so on.
 * @example
 * new TaskPipeline(app, "Offload", { stage: "prod", tasks: "tasks", alarmEmail: "team@example.com" });
 */
export class TaskPipeline extends Construct {
  readonly data: DataStack;
  readonly service: ServiceStack;

  constructor(scope: Construct, id: string, props: TaskPipelineProps) {
    super(scope, id);
    const { stage = "dev", tasks = "tasks", tiers = {}, alarms = {}, alarmEmail, alarmTopicArn, tracing } = props;
    checkStage(stage);
    checkAlarmReceivers(stage, { email: alarmEmail, topicArn: alarmTopicArn, alarms });
    if (tracing !== undefined) checkTracing(tracing);
    const { types, schedules } = this.load(tasks, props.probes ?? false);
    const catalog = toCatalog(types);
    const name = `${id}-${stage}`;
    const fireName = `${name}-fire`;
    this.data = new DataStack(this, "Data", {
      stage,
      stackName: `${name}-data`,
      fireName,
      batchWindows: batchWindows(tiers),
    });
    this.service = new ServiceStack(this, "Service", {
      stage,
      stackName: `${name}-service`,
      deployment: name,
      fireName,
      data: this.data,
      catalog: JSON.stringify(catalog),
      schedules: appSchedules(schedules, catalog),
      version: packageVersion(),
      logs: { retention: props.logRetention ?? RetentionDays.ONE_MONTH, removalPolicy: removalPolicyOf(stage) },
      tiers,
      accountConcurrency: props.accountConcurrency ?? usualAccountConcurrency,
      workerMemorySize: props.workerMemorySize ?? 512,
      workerFiles: { tasks, copies: props.workerFiles ?? {} },
      probes: props.probes ?? false,
      timeScale: props.timeScale ?? 1,
      tokenSettings: tokenSettings(props.jwt),
      limitSettings: limitSettings(props.limits),
      listSettings: listSettings(props.listShards),
      observability: {
        alarms,
        dashboard: props.dashboard ?? true,
        ...(alarmEmail !== undefined && { alarmEmail }),
        ...(alarmTopicArn !== undefined && { alarmTopicArn }),
      },
      ...(props.throttle !== undefined && { throttle: props.throttle }),
      ...(props.cors !== undefined && { cors: props.cors }),
      ...(tracing !== undefined && { tracing }),
    });
    this.service.templateOptions.metadata = { [acceptedKey]: acceptedBy(catalog, schedules, props) };
    reviewAtSynth(this, types);
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

  /** Loads the task types and schedules of a folder. A method of its own for tests of this construct. */
  protected load(tasks: string, probes: boolean): App {
    return loadTasks(tasks, probes);
  }
}

/** Metadata of the template, for `npx offload doctor`. */
const acceptedBy = (
  catalog: Catalog,
  schedules: readonly AppSchedule[],
  { accountConcurrency = usualAccountConcurrency }: TaskPipelineProps,
): Accepted => ({
  types: catalog.map(({ name }) => name),
  schedules: Object.fromEntries(schedules.map(({ name, task }) => [name, task.type])),
  accountConcurrency,
});

/** Batching window of each tier. */
const batchWindows = (tiers: Partial<PerTier<TierOptions>>): PerTier<Duration> =>
  perTier((tier) => tiers[tier]?.batchWindow ?? Duration.seconds(0));
