import { defineTask } from "offload";
import * as z from "zod";
import syncInbox from "./inbox.sync.ts";
import { call } from "./lib/world.ts";

/** Spreads the accounts over the hour. */
const minuteOf = (id: string) => [...id].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % 60;

export default defineTask({
  name: "inbox.connect",
  input: z.strictObject({ accountId: z.string() }),
  timeoutSeconds: 120,
  concurrency: { limit: 20 },
  handler: async ({ accountId }, task) => {
    const scheduleId = await task.putSchedule(`inbox-${accountId}`, {
      cron: `${minuteOf(accountId)} */6 * * *`,
      type: syncInbox,
      input: { accountId, manual: false },
    });
    await call("db/account", { accountId, scheduleId });
    await task.submit(syncInbox, { accountId, manual: true });
  },
});
