import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import { tiers } from "../src/core/model/words.ts";
import { toEnv } from "../src/settings/config.ts";
import type { ContainerWorkers } from "./container-workers.ts";
import type { PipelineFunction } from "./function.ts";

/** The functions of a service stack, by name. */
type Functions = Readonly<Partial<Record<string, PipelineFunction>>>;

/**
 * Lets the function status read the lines of tasks in the log groups of the submit function and of the workers, and
 * nothing else in CloudWatch Logs.
 */
export function allowTaskLogs(functions: Functions, containers: ContainerWorkers | undefined): void {
  const { status, submit } = functions;
  if (status === undefined || submit === undefined) return;
  const workers = tiers.map((tier) => [tier, functions[`${tier}-worker`]?.logGroup] as const);
  const found = [["submit", submit.logGroup] as const, ...workers, ["container", containers?.logGroup] as const];
  const groups = found.flatMap(([name, group]) => (group === undefined ? [] : [[name, group] as const]));
  status.grantPrincipal.addToPrincipalPolicy(
    new PolicyStatement({
      actions: ["logs:FilterLogEvents"],
      resources: groups.map(([, group]) => group.logGroupArn),
    }),
  );
  const names = Object.fromEntries(groups.map(([name, group]) => [name, group.logGroupName]));
  status.addVariables(toEnv({ logGroups: status.function.stack.toJsonString(names) }));
}
