import { alarmChecks } from "./alarm-checks.ts";
import type { Check } from "./check.ts";
import { containerChecks } from "./container-checks.ts";
import { fileChecks } from "./file-checks.ts";
import { logChecks } from "./log-checks.ts";
import { pushChecks } from "./push-checks.ts";
import { scheduleChecks } from "./schedule-checks.ts";
import { burstChecks, crashChecks, delayChecks, waitChecks } from "./task-checks.ts";

/** All checks, in the order of the report. */
export const allChecks: readonly Check[] = [
  ...waitChecks,
  ...delayChecks,
  ...scheduleChecks,
  ...fileChecks,
  ...crashChecks,
  ...alarmChecks,
  ...containerChecks,
  ...pushChecks,
  ...burstChecks,
  ...logChecks,
];
