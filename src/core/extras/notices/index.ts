import { lazily } from "../../../util/lazily.ts";
import { PortUnavailable } from "../../model/errors.ts";
import { isOwnName } from "../../model/internal-names.ts";
import type { TaskRecord } from "../../model/record.ts";
import { isTerminal } from "../../model/words.ts";
import type { EndPorts, Extra } from "../../ports/extra.ts";

/** Makes notices. It is loaded with the first task that has a subscriber: most have none. */
const code = lazily(() => import("./notices.ts"));

/**
 * Sends the notice of a task's end if somebody asked to hear of it. Repeatable: all notices of one end have one id.
 * @throws PortUnavailable
 */
async function notifyEnd(ports: EndPorts, record: TaskRecord): Promise<void> {
  const { notices } = ports;
  if (!isTerminal(record.status) || isOwnName(record.type)) return;
  const receives = await notices.receives(record.tenant_id);
  const isHeard = receives || record.callback !== undefined || notices.events || (await notices.hears(record, true));
  if (isHeard) await notices.send([await (await code()).endNotice(ports, record, receives)]);
}

/** The notices of a task's end to its subscribers, and of its changes to channels. */
export const notices: Extra = {
  name: "notices",
  ended: notifyEnd,
  /** Of a dead letter that is sent, all have been notified. */
  async beforeRound(ports, record) {
    if (record.buried_at === undefined) await notifyEnd(ports, record);
  },
  /** Channels are a hint, so a notice that cannot be sent is dropped. */
  async changed(ports, record, change) {
    const { notices, log } = ports;
    try {
      if (isOwnName(record.type) || !(await notices.hears(record, false))) return;
      await notices.send([(await code()).changeNotice(ports, record, change)]);
    } catch (error) {
      if (!(error instanceof PortUnavailable)) throw error;
      log.warn("could not tell channels of a change", { change, error: String(error) });
    }
  },
};
