import { definitionSchema, previewSchema } from "../../core/schedules/definition.ts";
import { countSchema, scheduleListSchema } from "../http/schedule-routes.ts";
import { acceptedTask, described, emptyBody, page, submitProblems } from "./describe.ts";
import { withName } from "./json-schema.ts";
import type { Answer } from "./route-text.ts";

const created = (description: string): Answer => ({
  description,
  body: "Schedule",
  headers: ["Location"],
  links: {
    id: "schedule_id",
    to: ["readSchedule", "listNextTimes", "changeSchedule", "runSchedule", "deleteSchedule"],
  },
});

/** The routes of schedules. */
export const scheduleTexts = described("schedules", {
  listSchedules: {
    summary: "List schedules",
    description: `The schedules of the app's code come first, with \`source: code\`, then those that clients made. ${page}`,
    role: "viewer",
    query: scheduleListSchema,
    answers: { 200: ["ScheduleList", "One page of schedules."] },
  },
  previewSchedule: {
    summary: "Compute the next times of a rule, without saving it",
    role: "viewer",
    query: countSchema,
    body: withName("SchedulePreview", previewSchema),
    example: { cron: "*/15 9-17 * * MON-FRI", timezone: "Europe/Berlin", count: 10 },
    answers: { 200: ["NextTimes", "The next times."] },
  },
  readSchedule: {
    summary: "Read a schedule",
    role: "viewer",
    answers: { 200: ["Schedule", "The schedule."] },
  },
  listNextTimes: {
    summary: "List the next times of a schedule",
    role: "viewer",
    query: countSchema,
    answers: { 200: ["NextTimes", "The next times. A schedule that is off has none."] },
  },
  createSchedule: {
    summary: "Create a schedule",
    description:
      "Give either `cron` or `every_seconds`. A repeat with the same body returns the existing schedule. `conflict`, `defined_in_code`: a schedule with the name is there, and `schedule_id` is its id.",
    role: "operator",
    body: withName("NewSchedule", definitionSchema),
    example: {
      name: "daily-report",
      cron: "0 2 * * *",
      timezone: "Europe/Berlin",
      task: { type: "report.daily", input: {}, priority: "low" },
    },
    answers: { 200: created("The schedule exists already."), 201: created("The schedule is created.") },
    problems: ["unknown_task_type", "conflict", "quota_exceeded", "defined_in_code"],
  },
  runSchedule: {
    summary: "Submit the task of a schedule now",
    role: "operator",
    parameters: ["Idempotency-Key"],
    body: emptyBody,
    bodyOptional: true,
    answers: { 202: acceptedTask },
    problems: submitProblems,
  },
});
