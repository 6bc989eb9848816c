import { readFileSync } from "node:fs";
import { Duration } from "aws-cdk-lib";
import type { CorsPreflightOptions } from "aws-cdk-lib/aws-apigatewayv2";
import { RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import type { PerTier } from "../src/config.ts";
import type { Catalog } from "../src/core/catalog.ts";
import { type AppSchedule, appSchedules } from "../src/core/schedules/app-schedule.ts";
import { type Accepted, acceptedKey } from "../src/doctor/accepted.ts";
import type { ThrottleOptions } from "./api.ts";
import { type TierOptions, usualAccountConcurrency } from "./capacity.ts";
import { DataStack } from "./data-stack.ts";
import type { AlarmOptions } from "./observability/alarm-options.ts";
import { perTier } from "./per-tier.ts";
import { ServiceStack } from "./service-stack.ts";
import { checkHearing, checkStage, removalPolicyOf } from "./stage.ts";
import { type JwtOptions, type LimitOptions, limitSettings, tokenSettings } from "./tenancy.ts";
import { checkTracing, type TracingOptions } from "./tracing.ts";

export interface TaskPipelineProps {
  /**
   * Which deployment this is: lower case letters, digits and `-`. `dev` is thrown away by `cdk destroy`; any other stage
   * keeps its data and its logs, refuses to be deleted, and must have somebody who hears of its alarms.
   * @default dev
   */
  readonly stage?: string;
  /** The task types that clients may submit, from `toCatalog`. The workers have those in `tasks/`. */
  readonly catalog: Catalog;
  /**
   * Schedules that belong to the app; those that are no longer listed are removed.
   * @default - none
   */
  readonly schedules?: readonly AppSchedule[];
  /**
   * How much of the account each tier may take, and in what portions.
   * @default - 500 worker invocations at once in all; see `TierOptions`
   */
  readonly tiers?: Partial<PerTier<TierOptions>>;
  /**
   * How many invocations at once the account has in this Region, over all its functions. The tiers must fit into it, so
   * that none can take what another needs.
   * @default 1000
   */
  readonly accountConcurrency?: number;
  /**
   * Memory of the workers, in MB, and with it a share of a CPU.
   * @default 512
   */
  readonly workerMemorySize?: number;
  /**
   * Files and folders that tasks read at run time, by their path beside the workers' code: `{ "fonts": "tasks/fonts" }`
   * copies that folder of the project.
   * @default - none: what tasks import is bundled
   */
  readonly workerFiles?: Readonly<Record<string, string>>;
  /**
   * How many requests the API takes before it answers 429.
   * @default - 500 a second, 1000 at once
   */
  readonly throttle?: ThrottleOptions;
  /**
   * Which web pages may call the API.
   * @default - none but the API's own
   */
  readonly cors?: CorsPreflightOptions;
  /**
   * Whose tokens open the API, beside API keys.
   * @default - nobody's
   */
  readonly jwt?: JwtOptions;
  /**
   * What tenants may use, and how full the tiers may be; operators change it by `npx offload limits`.
   * @default - tenants are not limited; the tiers' depth is, see `LimitOptions`
   */
  readonly limits?: LimitOptions;
  /**
   * Who gets an e-mail when an alarm goes off or ends; the address must be confirmed once.
   * @default - nobody: subscribe to the topic yourself
   */
  readonly alarmEmail?: string;
  /**
   * An SNS topic that alarms are to speak to. Its policy must let CloudWatch publish.
   * @default - a topic of the deployment's own
   */
  readonly alarmTopicArn?: string;
  /**
   * When alarms go off, and where their runbook is. `false` in `dev` saves what CloudWatch charges for alarms, about $9 a
   * month; a stage that is protected must have them.
   * @default - see `AlarmOptions`
   */
  readonly alarms?: AlarmOptions | false;
  /**
   * Whether there is a dashboard, named after the deployment. AWS charges for each beyond an account's third.
   * @default true
   */
  readonly dashboard?: boolean;
  /**
   * Sends the functions' spans to X-Ray.
   * @default - none are made; log lines carry the trace id anyway
   */
  readonly tracing?: TracingOptions;
  /**
   * How long logs stay.
   * @default RetentionDays.ONE_MONTH
   */
  readonly logRetention?: RetentionDays;
  /**
   * Whether the workers know the probe types, which fail and crash on request. For tests of a deployment.
   * @default false
   */
  readonly probes?: boolean;
  /**
   * Multiplies the waits between attempts; no wait gets shorter than a second. For trying things out.
   * @default 1
   */
  readonly timeScale?: number;
}

/**
 * A whole deployment of Offload: a data stack that stays, and a service stack that every deployment of code replaces.
 * Their outputs: `ApiUrl`, `DashboardUrl`; `TableName`, `RedriveDlqArn`, `FiringsDlqArn`; and of each tier
 * `CriticalQueueUrl`, `CriticalDlqUrl` and so on.
 * @example
 * new TaskPipeline(app, "Offload", { stage: "prod", catalog: toCatalog(tasks), alarmEmail: "team@example.com" });
 */
export class TaskPipeline extends Construct {
  readonly data: DataStack;
  readonly service: ServiceStack;

  constructor(scope: Construct, id: string, props: TaskPipelineProps) {
    super(scope, id);
    const { stage = "dev", tiers = {}, alarms = {}, alarmEmail, alarmTopicArn, tracing } = props;
    checkStage(stage);
    checkHearing(stage, { email: alarmEmail, topicArn: alarmTopicArn, alarms });
    if (tracing !== undefined) checkTracing(tracing);
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
      catalog: JSON.stringify(props.catalog),
      schedules: appSchedules(props.schedules ?? [], props.catalog),
      version: ownVersion(),
      logs: { retention: props.logRetention ?? RetentionDays.ONE_MONTH, removalPolicy: removalPolicyOf(stage) },
      tiers,
      accountConcurrency: props.accountConcurrency ?? usualAccountConcurrency,
      workerMemorySize: props.workerMemorySize ?? 512,
      workerFiles: { copies: props.workerFiles ?? {} },
      probes: props.probes ?? false,
      timeScale: props.timeScale ?? 1,
      tokenSettings: tokenSettings(props.jwt),
      limitSettings: limitSettings(props.limits),
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
    this.service.templateOptions.metadata = { [acceptedKey]: acceptedBy(props) };
  }
}

/** What `npx offload doctor` reads about the pipeline in its template. */
const acceptedBy = ({
  catalog,
  schedules = [],
  accountConcurrency = usualAccountConcurrency,
}: TaskPipelineProps): Accepted => ({
  types: catalog.map(({ name }) => name),
  schedules: Object.fromEntries(schedules.map(({ name, task }) => [name, task.type])),
  accountConcurrency,
});

/** The time that messages may be on their way to a worker, beyond that of the worker itself. */
const batchWindows = (tiers: Partial<PerTier<TierOptions>>): PerTier<Duration> =>
  perTier((tier) => tiers[tier]?.batchWindow ?? Duration.seconds(0));

function ownVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  return String((manifest as { version?: unknown }).version);
}
