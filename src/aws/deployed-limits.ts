import { LambdaClient, paginateListFunctions } from "@aws-sdk/client-lambda";
import { boundedTries } from "./http-handler.ts";

/**
 * Reads `OFFLOAD_LIMITS` of the deployment that uses a table, from the settings of its functions.
 * @returns Undefined when no function of this account and region has them.
 */
export async function deployedLimits(
  table: string,
  lambda = new LambdaClient(boundedTries()),
): Promise<string | undefined> {
  for await (const { Functions = [] } of paginateListFunctions({ client: lambda }, {})) {
    for (const { Environment } of Functions) {
      const { OFFLOAD_TABLE, OFFLOAD_LIMITS } = Environment?.Variables ?? {};
      if (OFFLOAD_TABLE === table && OFFLOAD_LIMITS !== undefined) return OFFLOAD_LIMITS;
    }
  }
  return undefined;
}
