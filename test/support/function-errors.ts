import { CloudFormationClient, ListStackResourcesCommand } from "@aws-sdk/client-cloudformation";
import { CloudWatchLogsClient, FilterLogEventsCommand } from "../../src/aws/lean/client-cloudwatch-logs.ts";
import { clientOptions } from "./deployment.ts";
import type { EmulatedAccount } from "./emulated-account.ts";

/** Lines of the error level that tasks and receivers of the suites cause on purpose. */
const onPurpose = ["attempt settled", "webhook failed"];

/** Prints what the functions of a stack have logged as errors, apart from the errors of tasks: the causes of answers with 500. */
export async function printFunctionErrors(account: EmulatedAccount, stack: string): Promise<void> {
  const logs = new CloudWatchLogsClient({}, account.env);
  for (const group of await logGroups(account, stack)) {
    const answer = await logs.send(new FilterLogEventsCommand({ logGroupName: group, filterPattern: '"ERROR"' }));
    const events = answer.events as { message: string }[];
    const lines = events.map(({ message }) => message).filter((line) => /"level":"ERROR"|Error: /.test(line));
    const own = lines.filter((line) => !onPurpose.some((words) => line.includes(words)));
    for (const line of own.slice(0, 20)) console.error(`${group}: ${line.slice(0, 1500)}`);
  }
}

async function logGroups(account: EmulatedAccount, stack: string): Promise<string[]> {
  const client = new CloudFormationClient(clientOptions(account));
  const { StackResourceSummaries = [] } = await client.send(new ListStackResourcesCommand({ StackName: stack }));
  return StackResourceSummaries.flatMap(({ ResourceType, LogicalResourceId = "", PhysicalResourceId = "" }) =>
    ResourceType === "AWS::Logs::LogGroup" && !LogicalResourceId.startsWith("ApiRequestLog")
      ? [PhysicalResourceId]
      : [],
  );
}
