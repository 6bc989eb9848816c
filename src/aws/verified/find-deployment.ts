import {
  CloudFormationClient,
  DescribeStacksCommand,
  paginateListStackResources,
  type Stack,
} from "@aws-sdk/client-cloudformation";
import { GetFunctionConfigurationCommand, LambdaClient } from "@aws-sdk/client-lambda";
import { tiers } from "../../core/model/words.ts";
import { fromEnv, type SettingName } from "../../settings/config.ts";
import { boundedTries } from "../http-handler.ts";
import { logGroupsOf } from "../task-logs.ts";
import type { AccountFacts } from "./verified-account.ts";

/** Settings of the schedules, as the functions have them. */
const scheduleSettings = [
  ...(["scheduleGroup", "fireArn", "schedulerRoleArn", "schedulerDlqArn", "table"] as const),
] satisfies SettingName[];

/** A deployment as its stacks describe it. */
export interface FoundDeployment {
  readonly facts: AccountFacts;
  /** Names of its functions. */
  readonly functions: readonly string[];
  readonly schedules: ReturnType<typeof fromEnv<(typeof scheduleSettings)[number]>>;
  /** URL and ARN of the DLQ of schedules in code. */
  readonly dlq: { readonly url: string; readonly arn: string };
}

interface Resource {
  readonly type: string;
  /** Logical id, by which the templates of this package name the resource. */
  readonly id: string;
  /** Name, ARN or URL. */
  readonly name: string;
}

/**
 * Finds a deployment by the name of one of its stacks, or its own.
 * @throws Error when the account and Region have no such stack
 */
export async function findDeployment(given: string): Promise<FoundDeployment> {
  const name = given.replace(/-(service|data)$/, "");
  const stacks = new CloudFormationClient(boundedTries());
  const lambda = new LambdaClient(boundedTries());
  try {
    const service = await stackOf(stacks, `${name}-service`);
    const resources = await resourcesOf(stacks, `${name}-service`);
    const data = await resourcesOf(stacks, `${name}-data`);
    const envOf = async (start: string) => {
      const one = resources.find(({ type, id }) => type === "AWS::Lambda::Function" && id.startsWith(start));
      if (one === undefined) return undefined;
      const found = await lambda.send(new GetFunctionConfigurationCommand({ FunctionName: one.name }));
      return found.Environment?.Variables ?? {};
    };
    const variables = { fire: await envOf("Fire"), status: await envOf("Status"), wake: await envOf("Wake") };
    return described(name, service, variables, { resources, data });
  } finally {
    stacks.destroy();
    lambda.destroy();
  }
}

async function stackOf(client: CloudFormationClient, name: string): Promise<Stack> {
  const answer = await client.send(new DescribeStacksCommand({ StackName: name })).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`could not read the stack ${name}: ${why}`, { cause: error });
  });
  const [stack] = answer.Stacks ?? [];
  if (stack === undefined) throw new Error(`there is no stack ${name} in this account and Region`);
  return stack;
}

async function resourcesOf(client: CloudFormationClient, StackName: string): Promise<Resource[]> {
  const found: Resource[] = [];
  for await (const { StackResourceSummaries = [] } of paginateListStackResources({ client }, { StackName })) {
    for (const {
      ResourceType: type = "",
      LogicalResourceId: id = "",
      PhysicalResourceId: name = "",
    } of StackResourceSummaries)
      found.push({ type, id, name });
  }
  return found;
}

type Variables = Record<string, string> | undefined;

function described(
  deployment: string,
  { Outputs = [], Description = "", StackId = "" }: Stack,
  { fire, status, wake }: Record<"fire" | "status" | "wake", Variables>,
  { resources, data }: Record<"resources" | "data", readonly Resource[]>,
): FoundDeployment {
  const url = Outputs.find(({ OutputKey }) => OutputKey === "ApiUrl")?.OutputValue;
  if (url === undefined || fire === undefined) throw new Error(`${deployment} is no deployment of Offload`);
  const schedules = fromEnv(fire, scheduleSettings);
  const [, , , region = "", accountId = ""] = StackId.split(":");
  const groups = logGroupsOf(status?.OFFLOAD_LOG_GROUPS ?? "{}");
  const workerLogs = Object.fromEntries(tiers.map((tier) => [tier, groups?.[tier] ?? ""]));
  const dlqUrl = data.find(({ type, id }) => type === "AWS::SQS::Queue" && /^SchedulingDlq/.test(id))?.name ?? "";
  const queue = dlqUrl.split("/").at(-1) ?? "";
  const namesOf = (wanted: string) => resources.flatMap(({ type, name }) => (type === wanted ? [name] : []));
  const facts: AccountFacts = {
    ...{ accountId, region, deployment, url, table: schedules.table },
    stage: /^Offload (.+): service$/.exec(Description)?.[1] ?? deployment,
    isTraced: fire.OFFLOAD_TRACING === "1",
    containers: wake === undefined ? undefined : fromEnv(wake, ["containerService"]).containerService,
    // The API's access log is of another class, and a query reads groups of one.
    logGroups: resources.flatMap(({ type, id, name }) =>
      type === "AWS::Logs::LogGroup" && !id.startsWith("ApiRequestLog") ? [name] : [],
    ),
    workerLogs: workerLogs as AccountFacts["workerLogs"],
  };
  const functions = namesOf("AWS::Lambda::Function");
  return { facts, functions, schedules, dlq: { url: dlqUrl, arn: schedules.schedulerDlqArn.replace(/[^:]+$/, queue) } };
}
