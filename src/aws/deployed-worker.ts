import { LambdaClient, paginateListFunctions } from "@aws-sdk/client-lambda";
import { boundedTries } from "./http-handler.ts";

/**
 * Reads the environment of a worker function of the deployment that uses a table. Container workers need the same.
 * @returns Undefined when no function of this account and region has it.
 */
export async function deployedWorkerEnvironment(
  table: string,
  lambda = new LambdaClient(boundedTries()),
): Promise<Record<string, string> | undefined> {
  for await (const { Functions = [] } of paginateListFunctions({ client: lambda }, {})) {
    for (const { Environment } of Functions) {
      const { Variables = {} } = Environment ?? {};
      if (Variables.OFFLOAD_TABLE === table && Variables.OFFLOAD_TIER !== undefined) return Variables;
    }
  }
  return undefined;
}
