import {
  type FunctionConfiguration,
  GetAccountSettingsCommand,
  GetFunctionConcurrencyCommand,
  GetFunctionConfigurationCommand,
  LambdaClient,
  paginateListEventSourceMappings,
  paginateListFunctions,
} from "@aws-sdk/client-lambda";
import { GetQueueAttributesCommand, SQSClient } from "#aws-sdk/client-sqs";
import { type Tier, tiers } from "../core/model/tier.ts";
import { fromEnv, type PerTier } from "../settings/config.ts";
import { boundedTries } from "./http-handler.ts";

/** Name of a pipeline's service stack, and of its fire function, the only function with a fixed name. */
export interface PipelineName {
  stack: string;
  fireName: string;
}

/** A deployed function. */
interface Function {
  name: string;
  state: string;
  lastUpdate: string;
  reason?: string;
  reservedConcurrency?: number;
}

/** A deployed queue of a tier. */
interface Queue {
  stack: string;
  tier: Tier;
  isDlq: boolean;
  attributes: Record<string, string>;
  eventSources: EventSource[];
}

/** An event source of a queue. */
interface EventSource {
  id: string;
  state: string;
}

/** The deployed pipelines of an account. */
export interface Account {
  /** Number of functions that can run at the same time, over the whole account. */
  concurrency: number;
  functions: Function[];
  queues: Queue[];
  /** Stacks of pipelines that are not deployed in this account and region. */
  missing: string[];
}

interface Clients {
  lambda: LambdaClient;
  sqs: SQSClient;
}

/** Clients with the operator's region, credentials and endpoints, from AWS's variables. */
export const liveClients = (): Clients => ({
  lambda: new LambdaClient(boundedTries()),
  sqs: new SQSClient({ ...boundedTries(), useQueueUrlAsEndpoint: false }),
});

/**
 * Reads the state of pipelines in the clients' account and region. Receives no messages.
 * @throws Error of the AWS SDK, for example when credentials, a region or a permission are missing
 */
export async function liveAccount(clients: Clients, pipelines: readonly PipelineName[]): Promise<Account> {
  const { AccountLimit } = await clients.lambda.send(new GetAccountSettingsCommand({}));
  const account: Account = {
    concurrency: AccountLimit?.ConcurrentExecutions ?? 0,
    functions: [],
    queues: [],
    missing: [],
  };
  for (const pipeline of pipelines) {
    const fire = await configurationOf(clients, pipeline.fireName);
    if (fire === undefined) account.missing.push(pipeline.stack);
    else await addPipeline(clients, pipeline, fire, account);
  }
  return account;
}

async function configurationOf(clients: Clients, name: string): Promise<FunctionConfiguration | undefined> {
  try {
    return await clients.lambda.send(new GetFunctionConfigurationCommand({ FunctionName: name }));
  } catch (error) {
    if (error instanceof Error && error.name === "ResourceNotFoundException") return undefined;
    throw error;
  }
}

async function addPipeline(clients: Clients, pipeline: PipelineName, fire: FunctionConfiguration, account: Account) {
  const { queueUrls, dlqUrls } = fromEnv(fire.Environment?.Variables ?? {}, ["queueUrls", "dlqUrls"]);
  const names = await functionNames(clients, pipeline);
  account.functions.push(...(await Promise.all(names.map((name) => functionOf(clients, name)))));
  account.queues.push(...(await queuesOf(clients, pipeline, queueUrls, false)));
  account.queues.push(...(await queuesOf(clients, pipeline, dlqUrls, true)));
}

/** CloudFormation starts a function's name with the stack's name, and shortens only the rest of a long name. */
async function functionNames({ lambda }: Clients, { stack, fireName }: PipelineName): Promise<string[]> {
  const names: string[] = [];
  for await (const page of paginateListFunctions({ client: lambda }, {})) {
    names.push(...(page.Functions ?? []).map(({ FunctionName = "" }) => FunctionName));
  }
  return names.filter((name) => name === fireName || name.startsWith(`${stack}-`));
}

async function functionOf({ lambda }: Clients, name: string): Promise<Function> {
  const [configuration, concurrency] = await Promise.all([
    lambda.send(new GetFunctionConfigurationCommand({ FunctionName: name })),
    lambda.send(new GetFunctionConcurrencyCommand({ FunctionName: name })),
  ]);
  const { State = "Active", LastUpdateStatus = "Successful", StateReason, LastUpdateStatusReason } = configuration;
  const reason = StateReason ?? LastUpdateStatusReason;
  const reserved = concurrency.ReservedConcurrentExecutions;
  return {
    name,
    state: State,
    lastUpdate: LastUpdateStatus,
    ...(reason !== undefined && { reason }),
    ...(reserved !== undefined && { reservedConcurrency: reserved }),
  };
}

const queuesOf = (clients: Clients, { stack }: PipelineName, urls: PerTier<string>, isDlq: boolean): Promise<Queue[]> =>
  Promise.all(
    tiers.map(async (tier) => {
      const command = new GetQueueAttributesCommand({ QueueUrl: urls[tier], AttributeNames: ["All"] });
      const { Attributes = {} } = await clients.sqs.send(command);
      const eventSources = isDlq ? [] : await eventSourcesOf(clients, Attributes.QueueArn ?? "");
      return { stack, tier, isDlq, attributes: Attributes, eventSources };
    }),
  );

async function eventSourcesOf({ lambda }: Clients, queueArn: string): Promise<EventSource[]> {
  const found: EventSource[] = [];
  for await (const page of paginateListEventSourceMappings({ client: lambda }, { EventSourceArn: queueArn })) {
    found.push(
      ...(page.EventSourceMappings ?? []).map(({ UUID = "", State = "Enabled" }) => ({ id: UUID, state: State })),
    );
  }
  return found;
}
