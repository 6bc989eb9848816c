import type { HttpApi } from "aws-cdk-lib/aws-apigatewayv2";
import type { Dashboard, IAlarm, IMetric } from "aws-cdk-lib/aws-cloudwatch";
import type { Connections, IConnectable } from "aws-cdk-lib/aws-ec2";
import type { IGrantable } from "aws-cdk-lib/aws-iam";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import type { ITopic } from "aws-cdk-lib/aws-sns";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import { BUNDLING_STACKS } from "aws-cdk-lib/cx-api";
import { Construct, type IConstruct } from "constructs";
import type { DescribedApp } from "../src/code/describe/described.ts";
import type { MetricName } from "../src/core/model/metrics.ts";
import type { Tier } from "../src/core/model/words.ts";
import { appSchedules } from "../src/core/schedules/app-schedule.ts";
import { acceptedKey } from "../src/tools/doctor/accepted.ts";
import { checkProps } from "./checked-props.ts";
import { DataStack } from "./data-stack.ts";
import { checkName, claimName } from "./deployment-name.ts";
import type { GrantSubmitOptions } from "./direct-submit.ts";
import { reviewAtSynth } from "./doctor.ts";
import { checkInstrumentation } from "./instrumentation.ts";
import { areWorkersKept } from "./kept-workers.ts";
import { startLoading, type TaskOptions, taskOptionsOf } from "./load-tasks.ts";
import { connectionsOf } from "./network.ts";
import { type TaskMetricOptions, TaskMetrics } from "./observability/task-metrics.ts";
import { acceptedBy, present } from "./pipeline-options.ts";
import { checkKnownOptions, checkTypes, dataProps, partsOf, planOf, serviceProps } from "./pipeline-plan.ts";
import type { TaskPipelineProps } from "./pipeline-props.ts";
import { checkSameEnvironment } from "./same-environment.ts";
import { addScheduleStacks } from "./schedule-stacks.ts";
import { ServiceStack } from "./service-stack.ts";
import { checkAlarmReceivers, checkStage, isProtected } from "./stage.ts";
import { type Access, grantAccess } from "./task-role.ts";
import { checkTracing } from "./tracing.ts";

/**
 * A deployment of Offload: a data stack with the table, the bucket and the queues, and a service stack with the code.
 * Outputs: `TableName` of the data stack; `ApiUrl`, `CreateKeyCommand`, `DashboardUrl` and `Release` of the service
 * stack; `ApiDomainTarget` with a `domain`, and `ChannelUrl` with `push`.
 * @example
 * new TaskPipeline(app, "Offload", { stage: "prod", tasks: "tasks", alarmEmail: "team@example.com" });
 */
export class TaskPipeline extends Construct implements IConnectable {
  readonly data: DataStack;
  readonly service: ServiceStack;
  /**
   * The roles of all workers, for grants of the CDK: `bucket.grantRead(pipeline.taskRole)`. No other function gets
   * them.
   */
  readonly taskRole: IGrantable;

  constructor(scope: Construct, id: string, props: TaskPipelineProps) {
    super(scope, id);
    checkProps(props);
    const { stage = "dev", alarms = {}, alarmEmail, alarmTopicArn, tracing, instrumentation } = props;
    checkKnownOptions(props);
    checkStage(stage);
    const keepsData = isProtected(stage, props.dataProtection);
    checkAlarmReceivers({ stage, keepsData }, { email: alarmEmail, topicArn: alarmTopicArn, alarms });
    if (tracing !== undefined) checkTracing(tracing);
    if (instrumentation !== undefined) checkInstrumentation(instrumentation, tracing !== undefined);
    const code = taskOptionsOf(props);
    const name = props.deploymentName ?? `${id}-${stage}`;
    checkName(name);
    const plan = planOf(this, { name, stage, keepsData, code }, props);
    const loading = this.load(code);
    // The task types are loaded while the stacks are made, which wait for them when they need them.
    this.data = new DataStack(this, "Data", dataProps(plan, props));
    if (props.encryptionKey !== undefined) checkSameEnvironment("encryptionKey", props.encryptionKey, this.data);
    const parts = () => {
      const found = loading();
      checkTypes(found.catalog, plan, props);
      return partsOf(found, name);
    };
    const { account, region } = this.data;
    const dashboardName = claimName(this, { name, account, region }) ? `${name}-${region}` : name;
    this.service = new ServiceStack(this, "Service", {
      ...serviceProps(plan, { app: parts, data: this.data }, props),
      observability: {
        alarms,
        dashboard: props.dashboard ?? true,
        dashboardName,
        ...present({ alarmEmail, alarmTopicArn }),
      },
    });
    const app = loading();
    if (app.triggers.length > 0) this.data.scheduling.allowTriggers(name);
    const schedules = appSchedules(app.schedules, app.catalog);
    addScheduleStacks(this, {
      stage,
      deployment: name,
      place: plan.place,
      schedules,
      data: this.data,
      service: this.service,
    });
    this.taskRole = this.service.taskRole;
    const accepted = acceptedBy(app.catalog, app, plan.capacity, props.profile);
    this.service.templateOptions.metadata = { [acceptedKey]: accepted };
    reviewAtSynth(this, app);
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
   * @throws TypeError when the resource has no such access, or is in a stack with an `env` while the pipeline has none
   * @example pipeline.grantToTasks(invoices, "readWrite");
   */
  grantToTasks(resource: IConstruct, access: Access): void {
    grantAccess(this.taskRole, resource, access, this.service);
  }

  /**
   * Allows a program to submit directly, with `offload/direct` and its AWS credentials. A Lambda function also gets the
   * environment variables that the client reads; an imported function gets a warning that they have to be set
   * elsewhere. The program may then submit for every tenant.
   * @throws TypeError when the function already submits to another deployment: give one of them a `prefix`
   */
  grantSubmit(grantee: IGrantable, options: GrantSubmitOptions = {}): void {
    this.service.direct.grant(grantee, options);
  }

  /** URL of the API, with the `domain` if there is one. */
  get apiUrl(): string {
    return this.service.api.url;
  }

  /** The HTTP API. */
  get api(): HttpApi {
    return this.service.api.api;
  }

  /** The topic of all alarms. Undefined: the deployment has no alarms. */
  get alarmTopic(): ITopic | undefined {
    return this.service.observability.alarms?.topic;
  }

  /** All alarms, among them the composite alarm that is on while users are affected. */
  get alarms(): readonly IAlarm[] {
    return this.service.observability.alarms?.all ?? [];
  }

  /** The dashboard, for widgets of the app. Undefined: the deployment has none. */
  get dashboard(): Dashboard | undefined {
    return this.service.observability.dashboard;
  }

  /**
   * The Lambda functions, by their roles: `submit`, `status`, `control`, `authorizer`, `fire`, `critical-worker` ...
   */
  get functions(): Readonly<Record<string, IFunction>> {
    const all = Object.entries(this.service.functions);
    return Object.fromEntries(all.map(([role, made]) => [role, made.function as IFunction]));
  }

  /** The queue of each tier. */
  get queues(): Readonly<Record<Tier, IQueue>> {
    return this.data.queues;
  }

  /** The dead-letter queue of each tier. */
  get deadLetterQueues(): Readonly<Record<Tier, IQueue>> {
    return this.data.dlqs;
  }

  /** One of Offload's own metrics, by its name: `pipeline.metric("timed_out")`. */
  metric(name: MetricName, options?: TaskMetricOptions): IMetric {
    return this.metrics.metric(name, options);
  }

  /** Accepted tasks. */
  metricSubmitted(options?: TaskMetricOptions): IMetric {
    return this.metric("submitted", options);
  }

  /** Tasks that completed. */
  metricCompleted(options?: TaskMetricOptions): IMetric {
    return this.metric("completed", options);
  }

  /** Tasks that failed permanently. */
  metricFailed(options?: TaskMetricOptions): IMetric {
    return this.metric("failed", options);
  }

  /** Attempts that another attempt follows. */
  metricRetried(options?: TaskMetricOptions): IMetric {
    return this.metric("retried", options);
  }

  /** Time from an attempt's due time to its start, in milliseconds: by default the 99th percentile. */
  metricQueueWait(options?: TaskMetricOptions): IMetric {
    return this.metric("queue_wait_ms", options);
  }

  /** Time of an attempt, in milliseconds: by default the 99th percentile. */
  metricProcessingTime(options?: TaskMetricOptions): IMetric {
    return this.metric("processing_ms", options);
  }

  /** Messages in the dead-letter queues. */
  metricDeadLetters(options?: TaskMetricOptions): IMetric {
    return this.metrics.deadLetters(options);
  }

  /** Messages that wait for a worker. */
  metricBacklog(options?: TaskMetricOptions): IMetric {
    return this.metrics.backlog(options);
  }

  /** Age of the oldest message in seconds, which counts until its task has ended. */
  metricOldestMessage(options?: TaskMetricOptions): IMetric {
    return this.metrics.oldestMessage(options);
  }

  private get metrics(): TaskMetrics {
    return new TaskMetrics(this.data, this.service.metrics);
  }

  /** Environment variables for a program that submits directly and is not a Lambda function of this app. */
  get submitSettings(): Readonly<Record<string, string>> {
    return this.service.direct.environment;
  }

  /**
   * Starts to load the task types, the schedules, the triggers and the environment of a folder. Returns a function that
   * waits for them. A method of its own for tests of this construct.
   */
  protected load(options: TaskOptions): () => DescribedApp {
    const bundled: unknown = this.node.tryGetContext(BUNDLING_STACKS);
    const isNothingBundled = Array.isArray(bundled) && bundled.length === 0;
    return startLoading(options, !isNothingBundled || areWorkersKept());
  }
}
