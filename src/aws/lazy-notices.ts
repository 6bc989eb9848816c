import type { Notices } from "../core/ports/notify.ts";
import type { Clock } from "../core/ports/tasks.ts";
import type { Config } from "../settings/config.ts";
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
  let opening: Promise<Notices> | undefined;
  const opened = (): Promise<Notices> => {
    opening ??= import("./notices.ts").then(({ openNotices }) => openNotices(config, receives));
    return opening;
  };
  return {
    events: config.notifyEvents,
    send: async (...notices) => (await opened()).send(...notices),
    receives,
    hears: async (...asked) => config.notifyPush && (await opened()).hears(...asked),
  };
}
