import { type DispatchPorts, dispatch } from "./dispatch.ts";
import { endAs, purgeAtOfWaiting } from "./end-attempt.ts";
import { followUp } from "./follow-up.ts";
import { fence } from "./lease.ts";
import { iso } from "./record.ts";
import { sameRetention } from "./retention.ts";
import type { Settled, Settling } from "./settled.ts";
import type { Suspension } from "./suspension.ts";
import { tellChange } from "./tell.ts";

/**
 * Suspends an attempt: its task is pending again until the given time, without a lease and without a message in flight. The attempt is not counted, but
 * its number over all rounds is, so that its late writes cannot change anything.
 * @throws PortUnavailable
 */
export async function settleSuspended(
  ports: DispatchPorts,
  { record: claimed, envelope }: Settling,
  { dueAt, waitingFor }: Suspension,
): Promise<Settled> {
  const fenced = fence(claimed);
  const settled = await endAs(ports, "suspended", claimed, fenced, (record) =>
    ports.records.change(record, {
      when: { ...fenced, ...sameRetention(record), cancel_requested_at: { absent: true } },
      set: {
        status: "pending",
        updated_at: iso(ports.clock.now()),
        due_at: iso(dueAt),
        purge_at: purgeAtOfWaiting(record, dueAt),
        attempts: record.attempts - 1,
        waiting_for: waitingFor,
      },
      remove: ["lease_until", "lease_token"],
    }),
  );
  if (settled.record === undefined) return settled;
  if (settled.as === "suspended") {
    await dispatch(ports, settled.record, envelope);
    await tellChange(ports, settled.record, "pending");
  }
  if (settled.as === "cancelled") await followUp(ports, settled.record, envelope);
  return settled;
}
