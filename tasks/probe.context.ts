import { setTimeout as sleep } from "node:timers/promises";
import { currentTask, defineTask } from "offload";
import * as z from "zod";

export default defineTask({
  name: "probe.context",
  description: "Pauses, then returns the values of the ambient context.",
  input: z.strictObject({ pause_ms: z.int().min(0).max(5_000).default(0) }),
  timeoutSeconds: 30,
  handler: async ({ pause_ms }) => {
    await sleep(pause_ms);
    const task = currentTask();
    if (task === undefined) throw new Error("there is no ambient context");
    task.log.info("this line was logged with the ambient context");
    return {
      tenant_id: task.tenantId,
      task_id: task.taskId,
      attempt: task.attempt,
      correlation_id: task.correlationId,
      requested_by: task.requestedBy,
      traceparent: task.traceparent ?? null,
    };
  },
});
