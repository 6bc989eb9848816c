import { fence } from "../../model/change.ts";
import { familyPurgeAt } from "../../model/family-node.ts";
import { iso } from "../../model/record.ts";
import type { EndPorts } from "../../ports/extra.ts";
import type { Settled, Settling } from "../../task/limiter.ts";
import { closeIfFull } from "../end/close-family.ts";
import { followUp } from "../end/follow-up.ts";
import * as extras from "../send/extras.ts";
import { reportWaiting } from "../send/report-family.ts";
import { sameRetention } from "../send/retention.ts";
import type { Ended } from "./attempt.ts";
import { attemptOf, endAs, sameSignals } from "./end-attempt.ts";
import { resultFields, saveResult } from "./pack-result.ts";

/** After so many tries, a parent waits although it goes on getting signals. */
const maxTries = 5;

/** The parent waits for its children: without a lease or a message, as the last child's end goes on with it. */
export async function settleWaiting(
  ports: EndPorts,
  { record: claimed, envelope, type }: Settling,
  { family, threshold, aggregated }: Extract<Ended, { how: "spawned" }>,
): Promise<Settled> {
  const fenced = fence(claimed);
  const purgeAt = familyPurgeAt(ports.clock.now());
  // For the process that closes the family, as the message ends with this attempt.
  await ports.records.savePart(claimed, "envelope", envelope, purgeAt);
  await extras.keep(ports, claimed, purgeAt);
  // A process that dies after the change leaves nothing that does so: the message finds a parent that waits.
  await extras.keepRead(ports, claimed, purgeAt);
  if (aggregated !== undefined) await saveResult(ports, claimed, aggregated, purgeAt);
  const aggregates = type?.aggregate !== undefined && aggregated === undefined;
  let tries = 0;
  const settled = await endAs(ports, "waiting", claimed, fenced, async (record) => {
    if (record.signals !== claimed.signals) await extras.keepRead(ports, record, purgeAt);
    const now = iso(ports.clock.now());
    tries += 1;
    return ports.records.change(record, {
      when: {
        ...fenced,
        ...sameRetention(record),
        cancel_requested_at: { absent: true },
        ...(tries < maxTries && sameSignals(record)),
      },
      set: {
        updated_at: now,
        purge_at: Math.max(record.purge_at, purgeAt),
        family_state: "waiting",
        family_root: family.root,
        family_total: family.total,
        family_threshold: threshold,
        family_caught: family.caught,
        family_aggregates: aggregates ? true : undefined,
        family_stop: family.stops && "armed",
        ...(aggregated !== undefined && { family_aggregated: true as const, ...resultFields(aggregated) }),
      },
      remove: [
        ...(["lease_until", "lease_token", "family_counts"] as const),
        ...(aggregates ? [] : (["family_aggregates"] as const)),
        ...(family.stops ? [] : (["family_stop"] as const)),
      ],
      append: attemptOf(record, now, "completed"),
    });
  });
  if (settled.record === undefined || settled.as === "stale") return settled;
  if (settled.as === "waiting") reportWaiting(ports, settled.record);
  // All children may have ended before the parent waited.
  const ended = settled.as === "waiting" ? await closeIfFull(ports, settled.record) : settled.record;
  if (ended !== undefined) await followUp(ports, ended, envelope);
  return settled;
}
