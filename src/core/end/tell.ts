import { createHash } from "node:crypto";
import { PortUnavailable } from "../model/errors.ts";
import { isInternal } from "../model/internal-names.ts";
import { iso, type TaskRecord } from "../model/record.ts";
import { isTerminal } from "../model/status.ts";
import type { Families } from "../ports/family.ts";
import type { ChangeNotice, EndNotice } from "../ports/notice.ts";
import type { Notices } from "../ports/notify.ts";
import type { Clock, Log } from "../ports/tasks.ts";
import { childrenOf, viewOf } from "./view.ts";

export interface TellPorts {
  clock: Clock;
  families: Families;
  notices: Notices;
  log: Log;
}

/**
 * Id of a task's end: the same for each notice, webhook and event of it. A later round of the task has another end, and
 * so has a later task under the same idempotency key.
 */
export const endId = ({ tenant_id, task_id, created_at, round }: TaskRecord): string =>
  `msg_${createHash("sha256")
    .update(JSON.stringify([tenant_id, task_id, created_at, round]))
    .digest("base64url")}`;

/**
 * Sends the notice of a task's end if somebody asked to hear of it. Repeatable: all notices of one end have one id.
 * @throws PortUnavailable
 */
export async function tellEnd(ports: TellPorts, record: TaskRecord): Promise<void> {
  const { notices } = ports;
  if (!isTerminal(record.status) || isInternal(record)) return;
  const receives = await notices.receives(record.tenant_id);
  const isHeard = receives || record.callback !== undefined || notices.events || (await notices.hears(record, true));
  if (isHeard) await notices.send([await endNotice(ports, record, receives)]);
}

/**
 * Tells of an end before its task starts another round: the process that ended the round may have died before that, and
 * none can do it afterwards. A dead letter that is buried has been told.
 * @throws PortUnavailable
 */
export async function tellBeforeNextRound(ports: TellPorts, record: TaskRecord): Promise<void> {
  if (record.buried_at === undefined) await tellEnd(ports, record);
}

async function endNotice(ports: TellPorts, record: TaskRecord, receives: boolean): Promise<EndNotice> {
  const children = await childrenOf(ports, record);
  const { callback, push_result, traceparent } = record;
  return {
    kind: "end",
    id: endId(record),
    ...aboutOf(record),
    task: { ...viewOf(record, iso(ports.clock.now()), undefined, children), result: null },
    ...(callback && { callback }),
    ...(receives && { receivers: true }),
    ...(push_result && { push_result }),
    ...(traceparent !== undefined && { traceparent }),
  };
}

/** Tells channels of a change that is not an end. Channels are a hint, so a notice that cannot be sent is dropped. */
export async function tellChange(ports: TellPorts, record: TaskRecord, change: ChangeNotice["change"]): Promise<void> {
  const { notices, clock, log } = ports;
  try {
    if (isInternal(record) || !(await notices.hears(record, false))) return;
    const { status, progress = null } = record;
    await notices.send([{ kind: "change", ...aboutOf(record), change, status, progress, at: iso(clock.now()) }]);
  } catch (error) {
    if (!(error instanceof PortUnavailable)) throw error;
    log.warn("could not tell channels of a change", { change, error: String(error) });
  }
}

const aboutOf = ({ tenant_id, task_id, requested_by, type }: TaskRecord) => ({
  tenant_id,
  task_id,
  requested_by,
  type,
});
