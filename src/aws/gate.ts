import { createGate, type Gate, type SubmitGate, withoutDepth } from "../core/limits/gate.ts";
import { type AllLimits, writtenLimits } from "../core/limits/limits.ts";
import type { Config } from "../settings/config.ts";
import { queueClient } from "./clients.ts";
import { DynamoLimitStore } from "./limit-store.ts";
import { SqsQueueDepths } from "./queue-depths.ts";
import type { dispatchPorts, dispatchSettings, gateSettings } from "./wiring.ts";

/** Creates the gate for clients' submits. */
export const gateOf = (
  config: Config<(typeof dispatchSettings)[number] | (typeof gateSettings)[number]>,
  { clock, records, usage, table, log }: ReturnType<typeof dispatchPorts>,
): Gate =>
  createGate(
    {
      clock,
      log,
      records,
      usage,
      limits: new DynamoLimitStore(table),
      depths: new SqsQueueDepths(queueClient(), config.queueUrls, config.dlqUrls, config.containerQueueUrls),
    },
    limitsOf(config.limits),
  );

/** Creates the gate for the tasks of schedules. */
export const scheduleGateOf = (...given: Parameters<typeof gateOf>): SubmitGate => withoutDepth(gateOf(...given));

/**
 * Reads `OFFLOAD_LIMITS`. The schema loads only for a text that no synthesis writes.
 * @throws Error that names the variable
 */
export function limitsOf(text: string): AllLimits | Promise<AllLimits> {
  const parsed = writtenLimits(text) ?? parse(text);
  // The submits that wait for the limits get the error.
  if (parsed instanceof Promise) parsed.catch(() => {});
  return parsed;
}

async function parse(text: string): Promise<AllLimits> {
  const { parseLimits } = await import("../core/limits/parse-limits.ts");
  try {
    return parseLimits(text);
  } catch (error) {
    throw new Error(`OFFLOAD_LIMITS: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
