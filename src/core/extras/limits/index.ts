import { isInternal } from "../../model/internal-names.ts";
import type { Limiter } from "../../task/limiter.ts";
import type { TaskMessage } from "../../task/puller.ts";
import type { LimitedType } from "../../task/type-limits.ts";
import type { FlowPorts } from "./wait-queue-ports.ts";

export type { FlowPorts };

/** The code of limits. Undefined: nothing of this process has needed it yet. */
let loaded: Limiter<FlowPorts> | undefined;

/**
 * Loads the code of limits. Called early by what knows that it will need it, and by everything whose clock is not the
 * machine's: its time does not wait for code.
 */
export async function loadLimits(): Promise<Limiter<FlowPorts>> {
  loaded ??= (await import("./permit.ts")).wholeLimiter;
  return loaded;
}

export const isLimited = ({ concurrency, rateLimit, breaker }: LimitedType): boolean =>
  concurrency !== undefined || rateLimit !== undefined || breaker !== undefined;

/** The door of limits. A task that nothing limits costs one look at settings that are known, and loads nothing. */
export const limiter: Limiter<FlowPorts> = {
  admit: async (ports, message) => (await limiterFor(ports, message))?.admit(ports, message),
  ofCrashed: async (ports, message, record) => (await limiterFor(ports, message))?.ofCrashed(ports, message, record),
  async settled(ports, message, as) {
    const { type, record } = message;
    if (type?.breaker === undefined && !ports.flow.isGuarded(record.type, record.tenant_id)) return;
    await (await loadLimits()).settled(ports, message, as);
  },
  check: async (ports, delivery, check) => (await loadLimits()).check(ports, delivery, check),
};

/** The whole limiter. Undefined: nothing limits the task. */
async function limiterFor({ flow }: FlowPorts, { delivery, envelope, ticket, type }: TaskMessage) {
  if (isInternal(envelope)) return undefined;
  const work = { tier: delivery.tier, type: envelope.type, tenantId: envelope.tenant_id };
  const mayBeLimited = ticket !== undefined || (type !== undefined && isLimited(type)) || (await flow.limits(work));
  return mayBeLimited ? loadLimits() : undefined;
}
