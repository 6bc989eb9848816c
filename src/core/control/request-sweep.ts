import { internalTypeNames } from "../model/internal-names.ts";
import { iso } from "../model/record.ts";
import type { Tier } from "../model/tier.ts";
import type { DispatchPorts } from "../ports/step-ports.ts";
import { submit } from "../submit/submit.ts";
import { internalTypes, systemTenant } from "../task/internal-types.ts";

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
