import { internalTypeNames, systemTenant } from "../model/internal-names.ts";
import { submit } from "../pipeline/submit/submit.ts";
import { dayOf } from "../ports/blob.ts";
import type { DispatchPorts } from "../ports/steps.ts";
import { internalTypes } from "../task/internal-types.ts";

export interface DailyPorts extends DispatchPorts {
  /** Looks for open tasks that nothing wakes, until the given time. */
  rescue(deadlineMs: number): Promise<void>;
  /** Looks for lines without a check, until the given time. */
  lookAtLines(deadlineMs: number): Promise<string>;
}

/** Time that is left for other firings of the same invocation, in milliseconds. */
const reserveMs = 30_000;

/**
 * Does what is due once a day: requests the deletion of stored objects, and looks for open tasks that nothing wakes.
 */
export async function daily(ports: DailyPorts, deadlineMs: number): Promise<string> {
  const requested = await requestPurge(ports);
  await ports.rescue(deadlineMs - reserveMs);
  return requested;
}

/** Submits the task that deletes stored objects: one a day, however often the rule fires. */
async function requestPurge(ports: DispatchPorts): Promise<string> {
  await submit(
    { ...ports, types: internalTypes },
    {
      identity: { tenantId: systemTenant, principal: "offload", role: "operator" },
      body: { type: internalTypeNames.purgeBlobs, input: {}, retention_seconds: 86_400 },
      idempotencyKey: `purge blobs ${dayOf(ports.clock.now())}`,
      correlationId: ports.newId(),
    },
  );
  return "purge requested";
}
