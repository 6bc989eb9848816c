import { inLanes } from "../../util/in-lanes.ts";
import { PortUnavailable } from "../model/errors.ts";
import type { TaskRecord } from "../model/record.ts";
import type { Lines } from "../ports/flow.ts";
import type { DispatchPorts } from "../ports/steps.ts";
import type { OpenTasks } from "../ports/tasks.ts";

/*
 * A release that fails, or that is rolled back, may have received the checks of lines and have lost them: its queue
 * hides them for as long as an attempt may take. So the end of each deployment looks for lines without a check.
 */

export interface LookPorts extends DispatchPorts {
  openTasks: OpenTasks;
  lines: Lines;
}

/** Parts of the table that a look reads, at most: with 1 MB each, $0.03. The daily pass reads the rest. */
const mostParts = 2_000;

/** Lines that a look remembers, at most. */
const mostLines = 100_000;

/** A check that should have come this long ago is lost, or in a tier that is behind, in milliseconds. */
const lostMs = 60_000;

/** Lines that are looked at together. */
const lanes = 10;

/**
 * Sends a check to each line in which tasks wait and whose own check is missing or overdue. Each step may be repeated.
 * @param deadlineMs Epoch milliseconds at which it must have ended.
 */
export async function lookAtLines(ports: LookPorts, deadlineMs: number): Promise<string> {
  const seen = new Set<string>();
  let checked = 0;
  let from: string | undefined;
  for (let parts = 0; parts < mostParts && ports.clock.now() < deadlineMs; parts++) {
    const part = await ports.openTasks.part(from);
    const fresh = part.items.filter((record) => waitsInNew(seen, record));
    await inLanes(fresh, lanes, async (record) => {
      if (await checkLost(ports, record)) checked += 1;
    });
    from = part.next;
    if (from === undefined || seen.size >= mostLines) break;
  }
  ports.log.info("looked at the lines after a deployment", { lines: seen.size, checked, whole: from === undefined });
  return "looked";
}

/** True for the first task that is found in its line. */
function waitsInNew(seen: Set<string>, { status, line }: TaskRecord): boolean {
  if (status !== "pending" || line === undefined || seen.has(line)) return false;
  seen.add(line);
  return true;
}

/** Sends a check to a line that has none on its way. A line that cannot be looked at is left to the daily pass. */
async function checkLost(ports: LookPorts, { line = "", priority: tier }: TaskRecord): Promise<boolean> {
  try {
    const { check } = await ports.lines.state(line);
    if (check !== undefined && check.atMs > ports.clock.now() - lostMs) return false;
    await ports.queues.sendCheck({ tier, check: { line, check_id: ports.newId() }, delaySeconds: 0 });
    return true;
  } catch (error) {
    if (!(error instanceof PortUnavailable)) throw error;
    return false;
  }
}
