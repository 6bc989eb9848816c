import type { QueueAges, QueueDepths } from "../core/ports.ts";
import { type Tier, tiers } from "../core/tier.ts";
import { type ApiPorts, type Call, type HandlersOf, identify } from "./api.ts";

/** The handler of what reads the queues. */
export const queueReads = (ports: QueuePorts) =>
  ({ readQueues: (call) => queuesAnswer(ports, call) }) satisfies Partial<HandlersOf<"control">>;

export interface QueuePorts extends ApiPorts {
  depths: QueueDepths;
  ages: QueueAges;
}

async function queuesAnswer(ports: QueuePorts, call: Call): Promise<Response> {
  identify(call, "admin");
  const ages = await agesOf(ports);
  const view = async (tier: Tier) => [tier, await queueView(ports.depths, tier, ages[tier])] as const;
  const entries = await Promise.all(tiers.map(view));
  call.header("cache-control", "no-store");
  return call.json({ queues: Object.fromEntries(entries) });
}

/** Depths without ages are better than no answer. */
const agesOf = ({ ages, log }: QueuePorts): ReturnType<QueueAges["ofTiers"]> =>
  ages.ofTiers().catch((error: unknown) => {
    log.warn("the age of the oldest messages could not be read", { error: String(error) });
    return {};
  });

/** One tier as clients see it. A DLQ's messages count whether or not somebody is looking at them. */
async function queueView(depths: QueueDepths, tier: Tier, ageSeconds: number | undefined) {
  const [queue, dlq] = await Promise.all([depths.ofTier(tier), depths.ofDlq(tier)]);
  const waiting = queue.visible + queue.inFlight + queue.delayed;
  return {
    visible: queue.visible,
    in_flight: queue.inFlight,
    delayed: queue.delayed,
    // SQS tells the age to CloudWatch only, a minute or more late: null until then.
    oldest_age_seconds: waiting === 0 ? 0 : (ageSeconds ?? null),
    dead_letters: dlq.visible + dlq.inFlight,
    paused: false,
  };
}
