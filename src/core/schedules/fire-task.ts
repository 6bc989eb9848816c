import type { Envelope } from "../model/envelope.ts";
import { isKept } from "../model/record.ts";
import { isTerminal } from "../model/words.ts";
import { followUp } from "../pipeline/end/follow-up.ts";
import { dispatch } from "../pipeline/send/dispatch.ts";
import * as extras from "../pipeline/send/extras.ts";
import { newestKept } from "../pipeline/send/kept-input.ts";
import type { EndPorts } from "../ports/extra.ts";
import type { TaskFiring } from "../ports/tasks.ts";

/**
 * Dispatches a task whose one-off schedule fired, for the rest of its wait. A task that no longer waits is skipped. A
 * second firing makes a twin, which is harmless.
 * @throws PortUnavailable, so that EventBridge Scheduler fires again
 */
export async function fireTask(ports: EndPorts, payload: TaskFiring): Promise<"dispatched" | "skipped"> {
  const record = await ports.records.get(payload);
  if (record === undefined) return "skipped";
  if (!isKept(record, ports.clock.now())) {
    await extras.ended(ports, record);
    return "skipped";
  }
  if (isTerminal(record.status)) await followUp(ports, record);
  if (record.status !== "pending") return "skipped";
  const envelope = (await ports.records.loadPart(payload, "envelope")) as Envelope | undefined;
  if (envelope === undefined) {
    ports.log.error("could not dispatch a waiting task: its envelope is not stored", {
      task_id: payload.task_id,
      tenant_id: payload.tenant_id,
    });
    return "skipped";
  }
  await dispatch(ports, record, await newestKept(ports, record, envelope));
  return "dispatched";
}
