import { refusedSince } from "../core/limits/refusals.ts";
import { pauseName } from "../core/model/line.ts";
import { type Tier, tiers } from "../core/model/tier.ts";
import type { FlowSettings, Pause } from "../core/ports/flow.ts";
import type { Clock, QueueAges, QueueDepths, Records, RetryCounts } from "../core/ports/tasks.ts";
import { lastRescue, type RescuePass } from "../core/schedules/rescue-state.ts";
import { type ApiPorts, type Call, type HandlersOf, identify } from "./api.ts";
import type { QueueView } from "./listed-views.ts";

/** The handler that reads the queues. */
export const queueReads = (ports: QueuePorts) =>
  ({ readQueues: (call) => queuesAnswer(ports, call) }) satisfies Partial<HandlersOf<"control">>;

export interface QueuePorts extends ApiPorts {
  depths: QueueDepths;
  ages: QueueAges;
  retries: RetryCounts;
  flowSettings: FlowSettings;
  records: Pick<Records, "loadPart">;
  clock: Clock;
}

async function queuesAnswer(ports: QueuePorts, call: Call): Promise<Response> {
  identify(call, "admin", "all");
  const [ages, retrying, rescue] = await Promise.all([agesOf(ports), ports.retries.ofTiers(), lastRescue(ports)]);
  const view = async (tier: Tier) =>
    [tier, { ...(await queueView(ports, tier, ages[tier])), retrying: retrying[tier] }] as const;
  const entries = await Promise.all(tiers.map(view));
  call.header("cache-control", "no-store");
  return call.json({ queues: Object.fromEntries(entries), rescue: rescueView(rescue) });
}

/** The last look for open tasks that nothing wakes, as clients see it. */
function rescueView(pass: RescuePass | undefined): Omit<RescuePass, "next"> | null {
  if (pass === undefined) return null;
  const { next: _, ...found } = pass;
  return found;
}

/** Reads the ages. When that fails, the answer has depths without ages. */
const agesOf = ({ ages, log }: QueuePorts): ReturnType<QueueAges["ofTiers"]> =>
  ages.ofTiers().catch((error: unknown) => {
    log.warn("could not read the age of the oldest messages", { error: String(error) });
    return {};
  });

/** Returns one tier as clients see it. The count of a DLQ includes messages that a reader has hidden. */
async function queueView(
  ports: QueuePorts,
  tier: Tier,
  ageSeconds: number | undefined,
): Promise<Omit<QueueView, "retrying">> {
  const { depths, flowSettings } = ports;
  const [queue, dlq, pause, refused] = await Promise.all([
    depths.ofTier(tier),
    depths.ofDlq(tier),
    flowSettings.find(pauseName({ scope: "tier", tier })) as Promise<Pause | undefined>,
    refusedSince(ports, tier),
  ]);
  const waiting = queue.visible + queue.inFlight + queue.delayed;
  return {
    visible: queue.visible,
    in_flight: queue.inFlight,
    delayed: queue.delayed,
    // The age comes from CloudWatch, which has it a minute or more late: null until then.
    oldest_age_seconds: waiting === 0 ? 0 : (ageSeconds ?? null),
    dead_letters: dlq.visible + dlq.inFlight,
    paused: pause !== undefined,
    paused_since: pause?.since ?? null,
    refusing_since: refused ?? null,
  };
}
