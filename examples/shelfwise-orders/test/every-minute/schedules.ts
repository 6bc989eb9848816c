import type { AppSchedule } from "offload/schedules";
import { schedules as real } from "../../tasks/schedules.ts";

/** The app's schedules, as they are but for their time. */
export const schedules: readonly AppSchedule[] = real.map((schedule) => ({ ...schedule, cron: "* * * * *" }));
