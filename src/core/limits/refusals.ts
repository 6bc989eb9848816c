import { systemTenant } from "../model/internal-names.ts";
import { iso } from "../model/record.ts";
import type { Tier } from "../model/words.ts";
import type { Clock, Log, Records } from "../ports/tasks.ts";

/** A process that still refuses stores it again after this time, in milliseconds. */
const repeatMs = 15_000;

/** A tier that no process has refused for this time takes tasks again: twice the longest `Retry-After`. */
const overMs = 120_000;

/** The stored fact that a tier is full. Times are epoch milliseconds. */
interface Refusal {
  since: number;
  last: number;
}

const key = { tenant_id: systemTenant, task_id: "refusals" };

/** Time since which submits to a tier are refused, in ISO 8601. Undefined: the last two minutes refused none. */
export async function refusedSince(
  { records, clock }: { records: Pick<Records, "loadPart">; clock: Clock },
  tier: Tier,
): Promise<string | undefined> {
  const stored = await load(records, tier);
  return stored !== undefined && clock.now() - stored.last < overMs ? iso(stored.since) : undefined;
}

const load = async (records: Pick<Records, "loadPart">, tier: Tier): Promise<Refusal | undefined> =>
  (await records.loadPart(key, `refusal#${tier}`)) as Refusal | undefined;

export interface RefusalPorts {
  clock: Clock;
  records: Pick<Records, "loadPart" | "savePart">;
  log: Log;
}

/**
 * Stores that a tier is full, so that operators see it: each process that submits decides alone. Costs one read and one
 * write in 15 seconds and process, and nothing while all tiers are open.
 */
export class Refusals {
  readonly #ports: RefusalPorts;
  readonly #storedAtMs = new Map<Tier, number>();

  constructor(ports: RefusalPorts) {
    this.#ports = ports;
  }

  /** Notes a refused submit. Never throws. */
  async note(tier: Tier): Promise<void> {
    const { clock, records, log } = this.#ports;
    const now = clock.now();
    if (now - (this.#storedAtMs.get(tier) ?? 0) < repeatMs) return;
    this.#storedAtMs.set(tier, now);
    try {
      const stored = await load(records, tier);
      const since = stored !== undefined && now - stored.last < overMs ? stored.since : now;
      const refusal: Refusal = { since, last: now };
      await records.savePart(key, `refusal#${tier}`, refusal, Math.ceil((now + overMs) / 1000));
    } catch (error) {
      log.warn("could not store that a tier is full", { queue: tier, error: String(error) });
    }
  }
}
