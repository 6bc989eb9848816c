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
import type { DynamoDBDocumentClient } from "#aws-sdk/lib-dynamodb";
import { iso } from "../core/model/record.ts";
import { type Tier, tiers } from "../core/model/words.ts";
import { lastReconcile, type ReconcilePass } from "../core/schedules/reconcile.ts";
import { fromEnv, type PerTier } from "../settings/config.ts";
import { releaseIn } from "../settings/releases.ts";
import { tableClient } from "./clients.ts";
import { DynamoTable } from "./dynamo-table.ts";
import { boundedTries } from "./http-handler.ts";
import { type HasRole, roleReader } from "./linked-roles.ts";
import { DynamoRecords } from "./records.ts";

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

/** The daily look of a pipeline for open tasks that nothing wakes. */
interface Reconcile {
  stack: string;
  deployedAt?: string;
  last?: ReconcilePass;
  unread?: string;
}

/** A role that AWS services need in the account. */
interface Role {
  name: string;
  exists?: boolean;
  unread?: string;
}

/** The deployed pipelines of an account. */
export interface Account {
  /** Time of the reads. */
  readAt: string;
  /** Number of functions that can run at the same time, over the whole account. */
  concurrency: number;
  functions: Function[];
  queues: Queue[];
  reconciles: Reconcile[];
  roles: Role[];
  /** Of each pipeline, as the function fire says. */
  releases: { stack: string; release: string }[];
  /** Stacks of pipelines that are not deployed in this account and region. */
  missing: string[];
}

interface Clients {
  lambda: LambdaClient;
  sqs: SQSClient;
  table: DynamoDBDocumentClient;
  hasRole: HasRole;
}

/** Clients with the operator's region, credentials and endpoints, from AWS's variables. */
export function liveClients(): Clients {
  const lambda = new LambdaClient(boundedTries());
  const sqs = new SQSClient({ ...boundedTries(), useQueueUrlAsEndpoint: false });
  return { lambda, sqs, table: tableClient(), hasRole: roleReader(lambda.config) };
}

/**
 * Reads the state of pipelines in the clients' account and region. Receives no messages.
 * @param roles Names of the roles to look for
 * @throws Error of the AWS SDK, for example when credentials, a region or a permission are missing
 */
export async function liveAccount(
  clients: Clients,
  pipelines: readonly PipelineName[],
  roles: readonly string[] = [],
): Promise<Account> {
  const { AccountLimit } = await clients.lambda.send(new GetAccountSettingsCommand({}));
  const account: Account = {
    readAt: iso(Date.now()),
    concurrency: AccountLimit?.ConcurrentExecutions ?? 0,
    functions: [],
    queues: [],
    reconciles: [],
    roles: await Promise.all(roles.map((name) => roleOf(clients, name))),
    releases: [],
    missing: [],
  };
  for (const pipeline of pipelines) {
    const fire = await configurationOf(clients, pipeline.fireName);
    if (fire === undefined) account.missing.push(pipeline.stack);
    else await addPipeline(clients, pipeline, fire, account);
  }
  return account;
}

/** Looks for a role, which credentials that may read the rest need not be allowed to. */
async function roleOf({ hasRole }: Clients, name: string): Promise<Role> {
  try {
    return { name, exists: await hasRole(name) };
  } catch (error) {
    return { name, unread: error instanceof Error ? error.message : String(error) };
  }
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
  account.releases.push({ stack: pipeline.stack, release: releaseIn(fire.Description) });
  account.reconciles.push(await reconcileOf(clients, pipeline, fire));
  const names = await functionNames(clients, pipeline);
  account.functions.push(...(await Promise.all(names.map((name) => functionOf(clients, name)))));
  account.queues.push(...(await queuesOf(clients, pipeline, queueUrls, false)));
  account.queues.push(...(await queuesOf(clients, pipeline, dlqUrls, true)));
}

/** Reads one item of the table, which credentials that may read the rest need not be allowed to. */
async function reconcileOf(
  { table }: Clients,
  { stack }: PipelineName,
  { LastModified, Environment }: FunctionConfiguration,
): Promise<Reconcile> {
  const deployed = Date.parse(LastModified ?? "");
  const reconcile = { stack, ...(!Number.isNaN(deployed) && { deployedAt: iso(deployed) }) };
  try {
    const { table: name } = fromEnv(Environment?.Variables ?? {}, ["table"]);
    const last = await lastReconcile({ records: new DynamoRecords(new DynamoTable(table, name)) });
    return last === undefined ? reconcile : { ...reconcile, last };
  } catch (error) {
    return { ...reconcile, unread: error instanceof Error ? error.message : String(error) };
  }
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
