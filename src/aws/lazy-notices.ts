import type { Notices } from "../core/ports/notify.ts";
import type { Clock } from "../core/ports/tasks.ts";
import type { Config } from "../settings/config.ts";
import { lazily } from "../util/lazily.ts";
import type { DynamoTable } from "./dynamo-table.ts";
import { receiverMarks } from "./receiver-marks.ts";

/** The settings that `lazyNotices` reads. */
export const noticeSettings = ["notifyUrl", "notifyEvents", "notifyPush"] as const;

/** The port to the notify queue. Its code loads with the first task that has a subscriber: most have none. */
export function lazyNotices(
  config: Config<"table" | (typeof noticeSettings)[number]>,
  table: DynamoTable,
  clock: Clock,
): Notices {
  const receives = receiverMarks(table, clock);
  const opened = lazily(async () => (await import("./notices.ts")).openNotices(config, receives));
  return {
    events: config.notifyEvents,
    send: async (...notices) => (await opened()).send(...notices),
    receives,
    hears: async (...asked) => config.notifyPush && (await opened()).hears(...asked),
  };
}
