import { endedOf, noCounts } from "../../model/family-node.ts";
import type { TaskRecord } from "../../model/record.ts";
import type { Clock } from "../../ports/tasks.ts";
import { countedAs, type ReportPorts, taskFields } from "./report.ts";

/** Reports that a parent waits for its children. */
export function reportWaiting({ log, metrics }: ReportPorts, parent: TaskRecord): void {
  metrics.add("family_waits", 1, countedAs(parent));
  log.info("family waits", {
    ...taskFields(parent),
    outcome: "waiting",
    status: parent.status,
    children: parent.family_total,
    threshold: parent.family_threshold,
  });
}

/** Reports that the open children of a parent are to be cancelled, as too many others have failed. */
export function reportStopped({ log }: ReportPorts, parent: TaskRecord): void {
  log.info("family stops", {
    ...taskFields(parent),
    outcome: "stopped",
    status: parent.status,
    children: parent.family_total,
    threshold: parent.family_threshold,
  });
}

/**
 * Reports that all children of a parent have ended. The status is the parent's: `pending` when an attempt that
 * aggregates follows.
 */
export function reportClosed({ log, metrics, clock }: ReportPorts & { clock: Clock }, parent: TaskRecord): void {
  const { family_counts: counts = noCounts, history, updated_at } = parent;
  const waitedMs = Math.max(0, clock.now() - Date.parse(history.at(-1)?.finished_at ?? updated_at));
  metrics.add("family_closed", 1, countedAs(parent));
  metrics.add("family_wait_ms", waitedMs, countedAs(parent));
  log.info("family closed", {
    ...taskFields(parent),
    outcome: "closed",
    status: parent.status,
    children: endedOf(counts),
    ...counts,
    waited_ms: waitedMs,
  });
}
