import * as z from "zod";
import type { OperationView } from "../../core/control/operation.ts";
import type { Tier } from "../../core/model/words.ts";
import type { ReconcilePass } from "../../core/schedules/reconcile.ts";
import type { DryRun, QueueView, StartedOperation } from "../acts/views.ts";
import { accepted, byTenant } from "./answers.ts";
import { object, viewOf } from "./json-schema.ts";
import { problem } from "./problems.ts";
import { count, flag, id, status, text, tier, time, timeOrNull } from "./words.ts";

/* Answers about many tasks: operations, queues, batches. */

viewOf<OperationView>()("Operation", {
  operation_id: id.describe("Id of the operation."),
  status: status.describe("Status of the operation."),
  matched: count.describe("Number of selected tasks."),
  done: count.describe("Number of tasks that were replayed, discarded, cancelled or retried."),
  skipped: count.describe("Number of tasks that had changed before their turn."),
  failed: count.describe("Number of tasks that could not be changed."),
  stopped: text
    .optional()
    .describe("Reason why it cancelled itself: the last 20 tasks that it had started all failed again."),
});

viewOf<DryRun>()("DryRun", {
  matched: count.describe("Number of selected tasks."),
  by_tenant: byTenant.optional().describe("Number of each tenant's. Only for an operation on all tenants."),
  with_callback: count
    .optional()
    .describe("Number of those whose ends send webhooks to a `callback` of their own. Only where there are any."),
});

viewOf<StartedOperation>()("OperationAccepted", {
  operation_id: id.describe("Id of the operation."),
  matched: count.describe("Number of selected tasks."),
});

viewOf<{ queues: Record<Tier, QueueView>; rescue: Omit<ReconcilePass, "next"> | null }>()("Queues", {
  queues: z
    .record(
      tier,
      object("Queue", {
        visible: count.describe("Messages that wait for a worker."),
        in_flight: count.describe("Messages that workers hold."),
        delayed: count.describe("Messages that wait for their time."),
        retrying: count.describe(
          "Tasks that wait for another attempt after a failed one. A number above some thousands is a lower bound.",
        ),
        oldest_age_seconds: z.number().min(0).nullable().describe("Age of the oldest message. Null: unknown."),
        dead_letters: count.describe("Messages in the tier's dead-letter queue."),
        paused: flag.describe("True when the tier is paused."),
        paused_since: timeOrNull.describe("Time of the pause. Null: the tier is not paused."),
        refusing_since: timeOrNull.describe(
          "Time since which submits are refused with `queue_full`. Null: none was refused in the last two minutes.",
        ),
      }),
    )
    .describe("The queue of each tier."),
  rescue: z
    .object({
      at: time,
      whole: flag.describe("True when it read all tasks. The next pass goes on where this one stopped."),
      open: count.describe("Open tasks that it saw."),
      sent: count.describe("Tasks whose message it sent again."),
      ended: count.describe("Tasks that it ended."),
      left: count.describe(
        "Late tasks that it left alone, as their tier is behind, or their message has the only copy of their input.",
      ),
    })
    .nullable()
    .describe("The last daily look for open tasks that nothing will wake. Null: there was none yet."),
});

object("BatchAccepted", {
  accepted: count.describe("Number of accepted entries, also of those that an earlier request made."),
  refused: count.describe("Number of refused entries."),
  tasks: z
    .array(
      z.union([
        object("BatchTask", {
          ...accepted.shape,
          replayed: flag.describe("True when an earlier request with the same key made the task."),
        }),
        object("BatchRefusal", { problem: problem.describe("The reason. 429 and 503 may be sent again.") }),
      ]),
    )
    .describe("The outcome of each entry, in the request's order."),
});
