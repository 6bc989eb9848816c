import type { DispatchPorts } from "../dispatch.ts";
import { internalTypeNames } from "../internal-names.ts";
import { internalTypes, systemTenant } from "../internal-types.ts";
import { iso } from "../record.ts";
import { submit } from "../submit.ts";
import type { Tier } from "../tier.ts";

/** Sweeps that are requested in the same interval of this length, in milliseconds, become one task. */
const sweepBucketMs = 5_000;

/**
 * Requests a sweep of a tier's DLQ, a few seconds after `afterMs` (epoch milliseconds; default: now). Requests in the same
 * interval become one task, which runs after the interval.
 * @throws Problem `unavailable`
 */
export async function requestSweep(
  ports: DispatchPorts,
  tier: Tier,
  correlationId: string,
  afterMs = ports.clock.now(),
): Promise<void> {
  const bucket = Math.floor(afterMs / sweepBucketMs) + 1;
  const run_at = iso(bucket * sweepBucketMs);
  await submit(
    { ...ports, types: internalTypes },
    {
      identity: { tenantId: systemTenant, principal: "offload", role: "operator" },
      body: { type: internalTypeNames.sweep, input: { tier }, run_at, retention_seconds: 3600 },
      idempotencyKey: `sweep ${tier} ${run_at}`,
      correlationId,
    },
  );
}
