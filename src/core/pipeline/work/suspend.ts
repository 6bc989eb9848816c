import type { Changed } from "../../model/change.ts";
import { fence } from "../../model/change.ts";
import { iso, type TaskRecord } from "../../model/record.ts";
import type { Suspension } from "../../model/suspension.ts";
import type { EndPorts } from "../../ports/extra.ts";
import type { Settled, Settling } from "../../task/limiter.ts";
import { followUp } from "../end/follow-up.ts";
import { dispatch } from "../send/dispatch.ts";
import * as extras from "../send/extras.ts";
import { outlivesNewEntries } from "../send/keep-entries.ts";
import { keptInput } from "../send/kept-input.ts";
import { purgeAtOfWaiting, sameRetention } from "../send/retention.ts";
import { endAs, sameSignals } from "./end-attempt.ts";

/**
 * Suspends an attempt: its task is pending again until the given time, without a lease and without a message in flight.
 * The attempt is not counted, but its number over all rounds is, so that its late writes cannot change anything. If a
 * signal came meanwhile, the task goes on immediately.
 * @throws PortUnavailable
 */
export async function settleSuspended(
  ports: EndPorts,
  { record: claimed, envelope, type }: Settling,
  suspension: Suspension,
): Promise<Settled> {
  const fenced = fence(claimed);
  const kept = keptInput(envelope, type);
  const settled = await endAs(ports, "suspended", claimed, fenced, async (record) => {
    const purgeAt = purgeAtOfWaiting(record, suspension.dueAt);
    // For the sender of a signal, or the end of a child, which has to send the task's message.
    if (mayEndEarly(suspension.waitingFor)) await ports.records.savePart(record, "envelope", envelope, purgeAt);
    await extras.keep(ports, record, purgeAt);
    const changed = await suspendUntil(ports, record, suspension, kept);
    if (changed.done || changed.record?.signals === record.signals) return changed;
    return suspendUntil(ports, record, { dueAt: ports.clock.now() }, kept);
  });
  if (settled.record === undefined) return settled;
  if (settled.as === "suspended") {
    await dispatch(ports, settled.record, envelope);
    await extras.changed(ports, settled.record, "pending");
  }
  if (settled.as === "cancelled") await followUp(ports, settled.record, envelope);
  return settled;
}

/** True for a wait that something else than its time may end. */
const mayEndEarly = (wait: Suspension["waitingFor"]): boolean => wait?.kind === "signal" || wait?.kind === "child";

function suspendUntil(
  ports: EndPorts,
  record: TaskRecord,
  { dueAt, waitingFor, fault }: Suspension,
  kept: string | undefined,
): Promise<Changed> {
  const purgeAt = purgeAtOfWaiting(record, dueAt);
  return ports.records.change(record, {
    when: {
      ...fence(record),
      ...sameRetention(record),
      cancel_requested_at: { absent: true },
      ...((mayEndEarly(waitingFor) || outlivesNewEntries(ports.clock, purgeAt)) && sameSignals(record)),
    },
    set: {
      status: "pending",
      updated_at: iso(ports.clock.now()),
      due_at: iso(dueAt),
      purge_at: purgeAt,
      attempts: record.attempts - 1,
      waiting_for: waitingFor,
      ...fault,
      kept_input: record.shown_input === undefined ? kept : undefined,
    },
    remove: ["lease_until", "lease_token"],
  });
}
