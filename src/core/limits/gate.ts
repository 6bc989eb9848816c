import type { QueueDepths } from "../ports.ts";
import { Problem } from "../problem.ts";
import type { Tier } from "../tier.ts";
import { Backpressure } from "./backpressure.ts";
import { LimitBook, type LimitBookPorts } from "./limit-book.ts";
import type { AllLimits, Limits } from "./limits.ts";
import { Quota, type QuotaPorts } from "./quota.ts";
import { RateLimiter } from "./rate.ts";

/** A submit that wants in. */
export interface Entrant {
  tenantId: string;
  tier: Tier;
  /** Size of the request's body. */
  bytes: number;
  /** Whether its message goes into the tier now, rather than into a schedule. */
  soon: boolean;
}

/** A submit that was let in. */
export interface Admission {
  /** Whether the task is to count among its tenant's tasks in progress. */
  counted: boolean;
  /** Takes everything back that was counted: the submit made no new task. */
  giveBack(): void;
}

/** Says yes or no to a client's submit, before anything is written. */
export interface Gate {
  /** @throws Problem `too_large`, `queue_full`, `rate_limited`, `quota_exceeded` */
  admit(entrant: Entrant): Promise<Admission>;
}

export interface GatePorts extends LimitBookPorts, QuotaPorts {
  depths: QueueDepths;
}

/**
 * The gate of a deployment: what costs nothing is asked first, and who is refused late gets back what was counted before.
 * @param configured From the settings; what operators store comes on top.
 */
export function createGate(ports: GatePorts, configured: AllLimits): Gate {
  const book = new LimitBook(ports, configured);
  const pressure = new Backpressure(ports);
  const rates = new RateLimiter(ports);
  const quota = new Quota(ports);

  const rated = async (tenantId: string, { submits_per_second: perSecond, burst }: Limits) => {
    if (perSecond == null) return () => {};
    await rates.take(tenantId, { perSecond, burst: burst ?? Math.max(1, Math.ceil(perSecond)) });
    return () => rates.giveBack(tenantId);
  };
  const placed = async (tenantId: string, { tasks_in_progress: bound }: Limits) => {
    if (bound == null) return undefined;
    await quota.take(tenantId, bound);
    return () => quota.giveBack(tenantId);
  };
  const entered = async (tier: Tier, soon: boolean) => {
    const bound = soon ? await book.depthOf(tier) : undefined;
    if (bound === undefined) return () => {};
    await pressure.enter(tier, bound);
    return () => pressure.leave(tier);
  };

  return {
    admit: async ({ tenantId, tier, bytes, soon }) => {
      const limits = await book.ofTenant(tenantId);
      checkSize(bytes, limits);
      const undo: (() => void)[] = [];
      const giveBack = () => {
        for (const step of undo.splice(0)) step();
      };
      try {
        undo.push(await entered(tier, soon));
        undo.push(await rated(tenantId, limits));
        const leave = await placed(tenantId, limits);
        if (leave !== undefined) undo.push(leave);
        return { counted: leave !== undefined, giveBack };
      } catch (error) {
        giveBack();
        throw error;
      }
    },
  };
}

function checkSize(bytes: number, { request_bytes: most }: Limits): void {
  if (most == null || bytes <= most) return;
  throw new Problem("too_large", `The request has ${bytes} bytes; this tenant's may have ${most}.`);
}
