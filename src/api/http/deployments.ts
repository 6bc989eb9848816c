import type { Deployments } from "../../core/schedules/ports.ts";
import { type HandlersOf, identify } from "./api.ts";

/** The handler that lists the deployments. They are the same for all tenants. */
export const deploymentReads = ({ deployments }: { deployments: Pick<Deployments, "newest"> }) =>
  ({
    listDeployments: async (call) => {
      identify(call, "viewer", "all");
      return call.unstored({ deployments: await deployments.newest() });
    },
  }) satisfies Partial<HandlersOf<"status">>;
