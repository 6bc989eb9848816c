import { lookAtLines } from "../../../src/core/schedules/deployed.ts";
import { reconcile } from "../../../src/core/schedules/reconcile.ts";
import type { Part } from "../pipeline-ports.ts";

/** The looks for tasks that nothing wakes: the daily one, and that at lines after a deployment. */
export const rescue: Part = {
  ports: (ports) => ({
    lookAtLines: (deadlineMs) => lookAtLines(ports, deadlineMs),
    reconcile: async (deadlineMs) => {
      await reconcile(ports, deadlineMs);
    },
  }),
};
