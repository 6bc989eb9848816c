import { type AppSchedule, defineSchedule } from "offload/schedules";
import reportDaily from "./report.daily.ts";

export const schedules: readonly AppSchedule[] = [
  defineSchedule({
    name: "report.nightly",
    cron: "0 2 * * *",
    timezone: "Europe/Berlin",
    type: reportDaily,
    input: {},
    forEachTenant: true,
  }),
];
