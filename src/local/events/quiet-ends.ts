import { randomUUID } from "node:crypto";
import { eventOf } from "../../core/notify/notify.ts";
import type { EndNotice, Notice } from "../../core/ports/notify.ts";
import type { Door } from "../direct/doors.ts";
import { type EventLog, localEventBus } from "./event-log.ts";

/** Longest message that is taken for an event of less than EventBridge's limit, in characters. */
const longestMessage = 80_000;

export interface QuietEndsOptions {
  events: EventLog;
  /** The event's `source`. */
  source: string;
  /** Name of the queue of notices. */
  queue: string;
  /** True while a channel may be open. */
  hasChannels(): boolean;
}

/**
 * A door to the queues that passes the end of a task to the event bus at once if nobody else hears of it: most tasks
 * have neither a webhook nor a channel, and notify would do the same after a way over its queue. A door that fails
 * leaves the notice to the queue.
 */
export function withQuietEnds(queues: Door, options: QuietEndsOptions): Door {
  return async (operation, text) => {
    if (operation !== "SendMessageBatch" || text.length > longestMessage || options.hasChannels()) {
      return queues(operation, text);
    }
    try {
      const end = quietEndIn(options.queue, text);
      if (end === undefined) return queues(operation, text);
      const { detailType, detail, time } = eventOf(end);
      const { source } = options;
      options.events.put({ source, "detail-type": detailType, detail, time }, localEventBus);
      return { status: 200, body: { Successful: [{ Id: "0", MessageId: randomUUID() }] } };
    } catch {
      return queues(operation, text);
    }
  };
}

/** The only notice of a request, if it is an end that no webhook and no trace asks for. */
function quietEndIn(queue: string, text: string): EndNotice | undefined {
  const { QueueUrl, Entries: [entry, other] = [] } = JSON.parse(text) as {
    QueueUrl?: string;
    Entries?: { Id: string; MessageBody: string }[];
  };
  const isNotice = QueueUrl?.endsWith(`/${queue}`) && entry?.Id === "0" && other === undefined;
  if (!isNotice) return undefined;
  const notice = JSON.parse(entry.MessageBody) as Notice;
  if (notice.kind !== "end" || notice.callback || notice.receivers || notice.traceparent !== undefined)
    return undefined;
  return notice;
}
