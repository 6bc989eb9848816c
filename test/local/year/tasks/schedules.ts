import { type AppSchedule, defineSchedule } from "offload/schedules";
import subscriptionBill from "./subscription.bill.ts";

export const schedules: readonly AppSchedule[] = [
  defineSchedule({
    name: "bills",
    tenantId: "acme",
    cron: "30 2 1 * *",
    timezone: "Europe/Berlin",
    type: subscriptionBill,
    input: { customer: "ada" },
  }),
];
