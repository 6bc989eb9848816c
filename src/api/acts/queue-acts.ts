import { pause, resume } from "../../core/extras/limits/manage-flow.ts";
import { refusedSince } from "../../core/limits/refusals.ts";
import { Problem } from "../../core/model/problem.ts";
import { pauseName } from "../../core/model/wait-queue.ts";
import { type Tier, tiers } from "../../core/model/words.ts";
import { requestSweep } from "../../core/pipeline/end/request-own-task.ts";
import type { FlowSettings, Pause } from "../../core/ports/flow.ts";
import type { DispatchPorts } from "../../core/ports/steps.ts";
import type { Clock, Log, QueueAges, QueueDepths, Records, RetryCounts } from "../../core/ports/tasks.ts";
import { lastReconcile, type ReconcilePass } from "../../core/schedules/reconcile.ts";
import { on, type TextsOf } from "./act.ts";
import { checkTier, type FlowPorts, pausedSince, pauseText, resumeText } from "./pausing.ts";
import type { QueueView } from "./views.ts";

export interface QueuePorts {
  depths: QueueDepths;
  ages: QueueAges;
  retries: RetryCounts;
  flowSettings: FlowSettings;
  records: Pick<Records, "loadPart">;
  clock: Clock;
  log: Log;
}

type Ports = QueuePorts & FlowPorts & DispatchPorts;

export const acts = () => {
  const onTier = on<Ports, Tier>({
    ...{ role: "admin", reach: "all" },
    find: (_, { params }) => {
      const tier = tiers.find((known) => known === params.tier);
      if (tier === undefined) throw new Problem("not_found", `No such queue. The queues are ${tiers.join(", ")}.`);
      return tier;
    },
  });
  return {
    readQueues: on<Ports, undefined>({ role: "admin", reach: "all", find: () => undefined })({
      run: async (ports) => ({ json: await queuesView(ports) }),
    }),
    pauseQueue: onTier({
      run: async (ports, tier, _, { by }) => ({
        json: { tier, ...pausedSince(await pause(ports, { scope: "tier", tier }, by.principal)) },
      }),
    }),
    resumeQueue: onTier({
      run: async (ports, tier, _, { by }) => {
        await resume(ports, { scope: "tier", tier }, checkTier, by.principal);
        return { json: { tier, ...pausedSince(undefined) } };
      },
    }),
    recoverLetters: onTier({
      run: async (ports, tier, _, { correlationId }) => {
        await requestSweep(ports, tier, correlationId);
        return { status: 202, json: { tier } };
      },
    }),
  };
};

async function queuesView(ports: QueuePorts) {
  const [ages, retrying, rescue] = await Promise.all([agesOf(ports), ports.retries.ofTiers(), lastReconcile(ports)]);
  const view = async (tier: Tier) =>
    [tier, { ...(await queueView(ports, tier, ages[tier])), retrying: retrying[tier] }] as const;
  const entries = await Promise.all(tiers.map(view));
  return { queues: Object.fromEntries(entries), rescue: rescueView(rescue) };
}

/** The last look for open tasks that nothing wakes, as clients see it. */
function rescueView(pass: ReconcilePass | undefined): Omit<ReconcilePass, "next"> | null {
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

export const texts: TextsOf<ReturnType<typeof acts>> = {
  readQueues: {
    route: "GET /queues",
    tag: "service",
    summary: "Read the number of messages in each queue",
    answers: { 200: ["Queues", "The queues, by tier."] },
  },
  pauseQueue: {
    route: "POST /queues/{tier}/pause",
    notes: ["all"],
    summary: "Pause a tier",
    description: pauseText,
    answers: { 200: ["QueuePause", "The tier is paused."] },
  },
  resumeQueue: {
    route: "POST /queues/{tier}/resume",
    notes: ["all"],
    summary: "Resume a tier",
    description: resumeText,
    answers: { 200: ["QueuePause", "The tier is not paused."] },
  },
  recoverLetters: {
    route: "POST /queues/{tier}/recover",
    notes: ["all"],
    tag: "dead letters",
    summary: "Recover the dead letters of a tier whose records are gone",
    description:
      "Compares the messages of the tier's DLQ with the tasks, within some seconds. If a message's task has no record, for example after the table was " +
      "restored to an earlier time, the message becomes a dead letter of the list again: it can be replayed and discarded. A message " +
      "whose task is not a dead letter any more is deleted. Offload does the same once a day.",
    answers: { 202: ["QueueRecovery", "The comparison will start."] },
  },
};
