import { defineSchedule } from "offload/schedules";
import updateFeatures from "./features.update.ts";
import statsHourly from "./stats.hourly.ts";

export const schedules = [
  defineSchedule({
    name: "features.minute",
    everySeconds: 60,
    overlap: "skip",
    tenantId: "acme",
    type: updateFeatures,
    input: {},
  }),
  defineSchedule({
    name: "stats.each_hour",
    cron: "0 * * * *",
    overlap: "skip",
    tenantId: "acme",
    type: statsHourly,
    input: {},
  }),
];
