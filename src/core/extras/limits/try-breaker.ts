import type { Line } from "../../model/line.ts";
import type { Breaker } from "../../ports/flow.ts";
import type { BreakerOption, LimitedType } from "../../task/type-limits.ts";
import type { LinePorts } from "./line-ports.ts";

type TryPorts = Pick<LinePorts, "clock" | "flowSettings">;

/** A type that has a breaker. */
export type BreakingType = Pick<LimitedType, "timeoutSeconds"> & { breaker: BreakerOption };

/** Epoch milliseconds until which a task that tries now is the only one: its attempt has certainly ended then. */
const tryEndMs = (nowMs: number, { breaker, timeoutSeconds }: BreakingType): number =>
  nowMs + Math.max(breaker.coolDownSeconds, timeoutSeconds) * 1000;

/**
 * Lets one task of a breaker try now, whose cool-down is over.
 * @returns Epoch milliseconds until which it is the only one. Undefined: another call lets one try.
 * @throws PortUnavailable
 */
export async function takeTry(
  { clock, flowSettings }: TryPorts,
  line: Line,
  type: BreakingType,
  openUntilMs: number,
): Promise<number | undefined> {
  const untilMs = tryEndMs(clock.now(), type);
  return (await flowSettings.tryBreaker(line.name, openUntilMs, untilMs)) ? untilMs : undefined;
}

/**
 * True when a task that was let go to try may do so: it was the last to be let go. While its queue was behind, others
 * may have been let go, and the breaker may have opened anew; then it tries only after the cool-down.
 * @throws PortUnavailable
 */
export async function mayTry(ports: TryPorts, line: Line, type: BreakingType, tryUntilMs: number): Promise<boolean> {
  const openUntilMs = ((await ports.flowSettings.find(line.name)) as Breaker | undefined)?.openUntilMs;
  if (openUntilMs === undefined || openUntilMs === tryUntilMs) return true;
  return ports.clock.now() >= openUntilMs && (await takeTry(ports, line, type, openUntilMs)) !== undefined;
}
