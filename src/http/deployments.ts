import type { Deployments } from "../core/schedules/ports.ts";
import { type HandlersOf, identify } from "./api.ts";

/** The handler that lists the deployments. They are the same for all tenants. */
export const deploymentReads = ({ deployments }: { deployments: Pick<Deployments, "newest"> }) =>
  ({
    listDeployments: async (call) => {
      identify(call, "viewer", "all");
      call.header("cache-control", "no-store");
      return call.json({ deployments: await deployments.newest() });
    },
  }) satisfies Partial<HandlersOf<"status">>;
