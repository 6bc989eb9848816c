import { GetFunctionConfigurationCommand, InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import {
  CreateScheduleCommand,
  DeleteScheduleCommand,
  GetScheduleCommand,
  ListSchedulesCommand,
  SchedulerClient,
  UpdateScheduleCommand,
} from "@aws-sdk/client-scheduler";
import { DeleteMessageCommand, type Message, ReceiveMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { boundedTries } from "../http-handler.ts";
import { type FoundDeployment, findDeployment } from "./find-deployment.ts";
import { type JsonCalls, jsonCalls } from "./json-calls.ts";
import { runQuery, savedQueries } from "./log-queries.ts";
import type { AccountFacts, DeadFiring, QueryAnswer, SavedQuery, VerifiedAccount } from "./verified-account.ts";

/** The AWS account of a deployment, with the operator's credentials. */
export class AwsAccount implements VerifiedAccount {
  readonly #found: FoundDeployment;
  readonly #scheduler = new SchedulerClient(boundedTries());
  readonly #sqs = new SQSClient({ ...boundedTries(), useQueueUrlAsEndpoint: false });
  readonly #lambda = new LambdaClient(boundedTries());
  readonly #calls: JsonCalls;

  private constructor(found: FoundDeployment, calls: JsonCalls) {
    this.#found = found;
    this.#calls = calls;
  }

  /** @throws Error when there is no such deployment, or without credentials or Region */
  static async open(stack: string): Promise<AwsAccount> {
    const found = await findDeployment(stack);
    const { config } = new SQSClient({});
    return new AwsAccount(found, await jsonCalls(config));
  }

  get facts(): AccountFacts {
    return this.#found.facts;
  }

  async oneOffOf(taskId: string): Promise<{ name: string; expression: string } | undefined> {
    const GroupName = this.#found.schedules.scheduleGroup;
    const { Schedules = [] } = await this.#scheduler.send(new ListSchedulesCommand({ GroupName, NamePrefix: taskId }));
    // An emulator may know no prefix.
    const Name = Schedules.find((one) => one.Name?.startsWith(taskId))?.Name;
    if (Name === undefined) return undefined;
    const { ScheduleExpression = "" } = await this.#scheduler.send(new GetScheduleCommand({ GroupName, Name }));
    return { name: Name, expression: ScheduleExpression };
  }

  async breakOneOff(name: string): Promise<void> {
    const key = { GroupName: this.#found.schedules.scheduleGroup, Name: name };
    const found = await this.#scheduler.send(new GetScheduleCommand(key));
    const { ScheduleExpression, ScheduleExpressionTimezone, FlexibleTimeWindow, ActionAfterCompletion, Target } = found;
    const rule = { ScheduleExpression, ScheduleExpressionTimezone, FlexibleTimeWindow, ActionAfterCompletion };
    const broken = { ...Target, RoleArn: Target?.RoleArn, Arn: this.#missing, RetryPolicy: noRetries };
    await this.#scheduler.send(new UpdateScheduleCommand({ ...key, ...rule, Target: broken }));
  }

  async createBroken(name: string, atMs: number): Promise<void> {
    const { scheduleGroup, schedulerRoleArn } = this.#found.schedules;
    await this.#scheduler.send(
      new CreateScheduleCommand({
        ...{ GroupName: scheduleGroup, Name: name, FlexibleTimeWindow: { Mode: "OFF" } },
        ...{ ScheduleExpression: `at(${new Date(atMs).toISOString().slice(0, 19)})`, ActionAfterCompletion: "DELETE" },
        Target: {
          ...{ Arn: this.#missing, RoleArn: schedulerRoleArn, RetryPolicy: noRetries },
          ...{ Input: JSON.stringify({ verify: name }), DeadLetterConfig: { Arn: this.#found.dlq.arn } },
        },
      }),
    );
  }

  /** ARN of a function that does not exist. */
  get #missing(): string {
    return `${this.#found.schedules.fireArn}-missing`;
  }

  async deleteSchedule(name: string): Promise<void> {
    const key = { GroupName: this.#found.schedules.scheduleGroup, Name: name };
    await this.#scheduler.send(new DeleteScheduleCommand(key)).catch((error: unknown) => {
      if (!(error instanceof Error) || error.name !== "ResourceNotFoundException") throw error;
    });
  }

  async takeDeadFiring(name: string): Promise<DeadFiring | undefined> {
    const QueueUrl = this.#found.dlq.url;
    const { Messages = [] } = await this.#sqs.send(
      new ReceiveMessageCommand({
        ...{ QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: waitSeconds, VisibilityTimeout: 30 },
        MessageAttributeNames: ["All"],
      }),
    );
    const own = Messages.find(({ Body = "" }: Message) => Body.includes(name));
    if (own === undefined) return undefined;
    await this.#sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: own.ReceiptHandle }));
    return { body: own.Body ?? "", attributes: Object.keys(own.MessageAttributes ?? {}) };
  }

  async fireWith(input: string): Promise<void> {
    const FunctionName = this.#found.schedules.fireArn;
    await this.#lambda.send(
      new InvokeCommand({ FunctionName, InvocationType: "Event", Payload: new TextEncoder().encode(input) }),
    );
  }

  savedQueries(): Promise<SavedQuery[]> {
    return savedQueries(this.#calls, this.facts.deployment);
  }

  query(query: Omit<SavedQuery, "name">, sinceMs: number): Promise<QueryAnswer> {
    return runQuery(this.#calls, query, sinceMs);
  }

  async usage(sinceMs: number): Promise<{ invocations: number; gbSeconds: number }> {
    const { functions } = this.#found;
    const memories = await Promise.all(functions.map((name) => this.#memoryOf(name)));
    const { MetricDataResults = [] } = (await this.#calls.metrics({
      ...{ StartTime: sinceMs / 1000, EndTime: Date.now() / 1000 },
      MetricDataQueries: functions.flatMap((name, index) => [
        usageQuery(`invocations${index}`, "Invocations", name),
        usageQuery(`duration${index}`, "Duration", name),
      ]),
    })) as { MetricDataResults?: { Id?: string; Values?: number[] }[] };
    const sumOf = (id: string) =>
      MetricDataResults.filter(({ Id }) => Id === id)
        .flatMap(({ Values = [] }) => Values)
        .reduce((sum, value) => sum + value, 0);
    return {
      invocations: functions.reduce((sum, _, index) => sum + sumOf(`invocations${index}`), 0),
      gbSeconds: memories.reduce((sum, mb, index) => sum + (sumOf(`duration${index}`) / 1000) * (mb / 1024), 0),
    };
  }

  async #memoryOf(FunctionName: string): Promise<number> {
    return (await this.#lambda.send(new GetFunctionConfigurationCommand({ FunctionName }))).MemorySize ?? 0;
  }

  async segmentsOf(traceId: string): Promise<number> {
    const id = `1-${traceId.slice(0, 8)}-${traceId.slice(8)}`;
    const { Traces = [] } = (await this.#calls.traces([id])) as { Traces?: { Segments?: unknown[] }[] };
    return Traces.reduce((sum, { Segments = [] }) => sum + Segments.length, 0);
  }

  async containers(): Promise<{ desired: number; running: number }> {
    const { cluster, service } = this.facts.containers ?? {};
    const answer = await this.#calls.ecs("DescribeServices", { cluster, services: [service] });
    const [found] = (answer.services ?? []) as { desiredCount?: number; runningCount?: number }[];
    return { desired: found?.desiredCount ?? 0, running: found?.runningCount ?? 0 };
  }

  close(): void {
    this.#scheduler.destroy();
    this.#sqs.destroy();
    this.#lambda.destroy();
  }
}

/** The query for the sum of a metric of a function, minute by minute. */
function usageQuery(Id: string, MetricName: string, name: string) {
  const Metric = { Namespace: "AWS/Lambda", MetricName, Dimensions: [{ Name: "FunctionName", Value: name }] };
  return { Id, MetricStat: { Metric, Period: 60, Stat: "Sum" } };
}

/** Less than the time that the client gives an answer. */
const waitSeconds = 2;

/** The firing goes to the dead-letter queue at once. */
const noRetries = { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 };
