import type { Line } from "../../model/line.ts";
import type { Tier } from "../../model/tier.ts";
import type { NextCheck, PlannedCheck } from "../../ports/flow.ts";
import { type LinePorts, latestMs, soonMs } from "./line-ports.ts";
import { orWarn } from "./sure-write.ts";

/** A planned look at a line counts as lost this long after its time, in milliseconds. */
const lostMs = 15_000;

/** True when a look at a line is planned and not lost. In a tier that is behind, it comes later by that time. */
export const stands = ({ clock, taker }: LinePorts, planned: PlannedCheck | undefined): planned is PlannedCheck =>
  planned !== undefined && planned.atMs > clock.now() - lostMs - (taker?.behindMs ?? 0);

/**
 * Sends a check of a line and notes it. Returns false when another one was planned meanwhile. Nothing follows a check
 * that comes before it is noted: where the write took so long, another check follows it.
 */
export async function plan(
  ports: LinePorts,
  line: Line,
  { tier, ...at }: { tier: Tier } & Omit<NextCheck, "id">,
  planned: PlannedCheck | undefined,
): Promise<boolean> {
  const { clock, lines, newId } = ports;
  let check = { id: newId(), ...at };
  for (let seen = planned; ; ) {
    const sentMs = clock.now();
    await sendCheck(ports, line, { tier, ...check });
    if (!(await lines.planCheck(line.name, check, seen))) return false;
    const now = clock.now();
    if (now < check.atMs) return true;
    seen = check;
    check = { ...check, id: newId(), atMs: now + soonMs + Math.min(2 * (now - sentMs), latestMs) };
  }
}

/**
 * Plans a check that is far away for an earlier time: no task of the line was let go for long, and this worker may die
 * before it sends the message of the task that it lets go. Without this, the planned check finds that task.
 */
export async function planSooner(
  ports: LinePorts,
  line: Line,
  at: { tier: Tier; atMs: number },
  planned: PlannedCheck | undefined,
): Promise<void> {
  if (!stands(ports, planned) || planned.atMs <= at.atMs) return;
  await orWarn(ports.log, "could not plan a check of a line for an earlier time", plan(ports, line, at, planned));
}

/** Sends a message that looks at a line again. */
export const sendCheck = (
  { queues, clock }: Pick<LinePorts, "queues" | "clock">,
  line: Line,
  { tier, atMs, id }: { tier: Tier; atMs: number; id: string },
): Promise<void> =>
  queues.sendCheck({
    tier,
    check: { line: line.name, check_id: id },
    delaySeconds: Math.max(0, Math.ceil((atMs - clock.now()) / 1000)),
  });
