import type { QueueDepths } from "../core/ports.ts";
import { type Tier, tiers } from "../core/tier.ts";
import { type Api, type Call, identify } from "./api.ts";

/** Adds `GET /queues`. */
export function addQueues(api: Api, ports: { depths: QueueDepths }): void {
  api.get("/queues", (call) => queuesAnswer(ports, call));
}

async function queuesAnswer({ depths }: { depths: QueueDepths }, call: Call): Promise<Response> {
  identify(call, "admin");
  const entries = await Promise.all(tiers.map(async (tier) => [tier, await queueView(depths, tier)] as const));
  call.header("cache-control", "no-store");
  return call.json({ queues: Object.fromEntries(entries) });
}

/** One tier as clients see it. A DLQ's messages count whether or not somebody is looking at them. */
async function queueView(depths: QueueDepths, tier: Tier) {
  const [queue, dlq] = await Promise.all([depths.ofTier(tier), depths.ofDlq(tier)]);
  const waiting = queue.visible + queue.inFlight + queue.delayed;
  return {
    visible: queue.visible,
    in_flight: queue.inFlight,
    delayed: queue.delayed,
    // SQS tells the age of a message to CloudWatch only, minutes late; no number is better than an old one.
    oldest_age_seconds: waiting === 0 ? 0 : null,
    dead_letters: dlq.visible + dlq.inFlight,
    paused: false,
  };
}
