import type { Environment } from "aws-cdk-lib";
import type { CorsPreflightOptions } from "aws-cdk-lib/aws-apigatewayv2";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { RetentionDays } from "aws-cdk-lib/aws-logs";
import type { PerTier } from "../src/settings/config.ts";
import type { ThrottleOptions } from "./api.ts";
import type { ConcurrencyOptions, TierOptions } from "./capacity.ts";
import type { CodeOptions } from "./code-options.ts";
import type { ContainerOptions } from "./containers.ts";
import type { DomainOptions } from "./domain.ts";
import type { ExistingBus } from "./event-bus.ts";
import type { HandlerOptions } from "./handler-options.ts";
import type { WebhookNetworkOptions } from "./network.ts";
import type { AlarmOptions } from "./observability/alarm-options.ts";
import type { ProfileName } from "./profile.ts";
import type { JwtOptions, LimitOptions } from "./tenancy.ts";
import type { TracingOptions } from "./tracing.ts";

export interface TaskPipelineProps extends HandlerOptions, ConcurrencyOptions, CodeOptions {
  /**
   * Stage of the deployment: lower case letters, digits and `-`. `cdk destroy` deletes `dev` completely. Any other
   * stage keeps its data and logs, has termination protection for them, and needs a receiver for its alarms; see
   * `dataProtection`.
   * @default dev
   */
  readonly stage?: string;
  /**
   * True keeps data and logs when the stacks are deleted, and protects table and data stack from deletion. False is for
   * a deployment that is created and deleted again, such as the preview of a pull request: `cdk destroy` deletes it
   * completely, and it needs no receiver for alarms.
   * @default - false in the stage `dev`, true in every other stage
   */
  readonly dataProtection?: boolean;
  /**
   * Name of the deployment: of its stacks, functions, alarms, dashboard, event bus and metrics. Two deployments of an
   * account and Region need two names. Another name is another deployment, with its own data.
   * @default - the construct's id and the stage: `Offload-dev`, wherever in the app the construct is
   */
  readonly deploymentName?: string;
  /**
   * Path of the construct when it was first deployed, for a pipeline that a release before 0.2 deployed in a Stage,
   * stack or construct: `Prod/Offload`. Logical ids then stay as that release made them.
   * @default - the construct's id: logical ids do not depend on the place in the app
   */
  readonly deployedAt?: string;
  /**
   * AWS account and Region of both stacks. Needed with resources of stacks that name theirs, such as a VPC that was
   * looked up.
   * @default - those of the stack that contains the construct, or else of its Stage, or else of the credentials at
   * deployment
   */
  readonly env?: Environment;
  /**
   * Folder of the task types: one file for each, whose name is the type's; and `schedules.ts` and `triggers.ts`, if the
   * app has schedules or triggers. The path starts at the working directory, which for the CDK is the folder of
   * `cdk.json`. The catalogue that the API accepts, the workers' bundle and the schedules all come from this folder.
   * @default tasks
   */
  readonly tasks?: string;
  /**
   * Concurrency, batches and memory of each tier.
   * @default - 500 concurrent worker invocations in total; see `TierOptions`
   */
  readonly tiers?: Partial<PerTier<TierOptions>>;
  /**
   * Size of the account. `small` is for a new account, which may have only 10 concurrent invocations: each tier runs at
   * most two batches at once, and the API is answered while all tiers are busy. `npx offload doctor --live` reads the
   * account's limit.
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
   * Files and folders that tasks read at run time, by their path in the bundle: `{ "fonts": "tasks/fonts" }` copies
   * that folder of the project. Imported files need no entry.
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
   * Domain of the API, with TLS 1.2 or later. The output `ApiUrl` then has its name, and the name that API Gateway
   * creates is turned off, so give clients the new URL first.
   * @default - the name that API Gateway creates
   */
  readonly domain?: DomainOptions;
  /**
   * Sends an event to EventBridge at each end of a task. `true`: to a new event bus with the deployment's name.
   * `{ busName }`: to an event bus that exists already, in the same account and Region, by its name or ARN.
   * @default - no events
   */
  readonly events?: boolean | ExistingBus;
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
   * Number of index partitions of each submitter's list of tasks, and of each tenant's lists if it is more than 4; at
   * most 64. A partition accepts 1,000 submits a second. A list reads all its partitions, also those of an earlier,
   * larger number.
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
   * Thresholds of alarms, and the URL of the runbook. `false` creates no alarms, which saves about $9 a month. Only
   * `dev` may turn them off.
   * @default - see `AlarmOptions`
   */
  readonly alarms?: AlarmOptions | false;
  /**
   * Creates a dashboard, named after the deployment. AWS charges for more than three dashboards of an account.
   * @default true
   */
  readonly dashboard?: boolean;
  /**
   * Lets clients open channels, which tell them of tasks by WebSocket. Without channels this costs nothing but the
   * API's existence.
   * @default false
   */
  readonly push?: boolean;
  /**
   * Hosts and ports that webhooks may reach although they are not public, such as `receiver.internal:8443`. The
   * function that sends webhooks reaches them only if it is in their VPC: `webhookNetwork`.
   * @default - only public addresses, by https
   */
  readonly callbackHosts?: readonly string[];
  /**
   * VPC of the function that sends webhooks, so that they come from the fixed addresses of its NAT gateways, which
   * receivers can allow. `npx offload docs webhooks` has an example.
   * @default - no VPC: webhooks come from any address of AWS in the Region
   */
  readonly webhookNetwork?: WebhookNetworkOptions;
  /**
   * Sends the functions' spans to X-Ray, or to another service. Log lines contain the trace id even without tracing.
   * @default - no tracing
   */
  readonly tracing?: TracingOptions;
  /**
   * Key of AWS KMS for all that is stored: table, bucket, queues, logs, and the topic of alarms. A key of your app gets
   * the rights that services need; an imported key needs them in its policy, see `npx offload docs cdk`. It costs $1 a
   * month, and $0.03 for 10,000 requests. Define it in a stack that needs nothing of the pipeline.
   * @default - keys of AWS, which cost nothing
   */
  readonly encryptionKey?: IKey;
  /**
   * Retention of logs.
   * @default RetentionDays.ONE_MONTH
   */
  readonly logRetention?: RetentionDays;
  /**
   * Names the access log `/aws/vendedlogs/<deployment>-requests`. Each API of an account whose access log has another
   * name takes a part of a policy of CloudWatch Logs, which has room for some dozens. A log that exists already is not
   * renamed: the new one begins empty, the old one stays outside `dev`. Switched off, or with its stack, the new one is
   * deleted.
   * @default - true with `dataProtection: false`, otherwise false
   */
  readonly vendedAccessLog?: boolean;
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
