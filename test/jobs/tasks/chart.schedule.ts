import { defineTask } from "offload";
import * as z from "zod";
import sendChart from "./chart.send.ts";

export default defineTask({
  name: "chart.schedule",
  input: z.strictObject({
    scheduler: z.string(),
    cron: z.string().nullable(),
    chart: z.string(),
    channels: z.array(z.string()),
  }),
  handler: async ({ scheduler, cron, ...input }, task) => {
    if (cron === null) await task.deleteSchedule(scheduler);
    else await task.putSchedule(scheduler, { cron, type: sendChart, input });
  },
});
