import type { Json } from "./json-schema.ts";

type Texts = Readonly<Record<string, string>>;

const taskOptions: Texts = {
  type: "Name of the task type.",
  input: "Checked against the type's JSON Schema before anything is written.",
  priority: "Tier of the task. Default: the type's own.",
  max_attempts: "Maximum number of attempts in a round. Default: the type's own.",
  expires_in_seconds: "The task expires if no attempt has started after this time.",
  retention_seconds: "Record and result are kept for this time after the task's end. Default: a week.",
  tags: "At most 10 tags, for `GET /tasks?tag.NAME=VALUE`.",
};

const rule: Texts = {
  cron: "Five fields as in crontab: minute, hour, day of month, month, day of week.",
  every_seconds: "Interval, a multiple of 60.",
  timezone: "IANA name, such as `Europe/Berlin`.",
  starts_at: "No time before this one.",
  ends_at: "No time from this one on.",
};

const scheduleOptions: Texts = {
  ...rule,
  enabled: "False: the schedule submits nothing.",
  overlap: "`skip` submits nothing while the last task has not ended.",
  task: "The task that each scheduled time submits.",
};

const selection: Texts = {
  task_ids: "Ids of dead letters.",
  filter: "Selects dead letters by the fields of `GET /dead-letters`.",
  dry_run: "True: only counts the matches.",
};

/**
 * Descriptions of the fields of requests, by schema and field. They are not in the schemas themselves, which functions load
 * at their start.
 */
const fieldTexts: Readonly<Record<string, Texts>> = {
  Submit: {
    ...taskOptions,
    delay_seconds: "The task starts no earlier than after this time. Not with `run_at`.",
    run_at: "The task starts no earlier than at this time. A time in the past means now.",
  },
  ScheduledTask: taskOptions,
  NewSchedule: { name: "Unique in the tenant.", ...scheduleOptions },
  ScheduleChange: scheduleOptions,
  SchedulePreview: { ...rule, from: "Default: now.", count: "Number of times. Default: 5." },
  Extend: { retention_seconds: "Record and result are kept for at least this time from now on." },
  Replay: { ...selection, per_second: "Maximum number of replays per second. Default: no limit." },
  Discard: selection,
};

/** Fields of a request that exclude each other, by schema. A field that is null counts as absent. */
const exclusive: Readonly<Record<string, readonly [string, string]>> = {
  Submit: ["delay_seconds", "run_at"],
  NewSchedule: ["cron", "every_seconds"],
  ScheduleChange: ["cron", "every_seconds"],
  SchedulePreview: ["cron", "every_seconds"],
  Replay: ["task_ids", "filter"],
  Discard: ["task_ids", "filter"],
};

/** Adds to the schemas of requests the descriptions of their fields, and which fields exclude each other. */
export const withFieldTexts = (schemas: Readonly<Record<string, Json>>): Record<string, Json> =>
  Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [
      name,
      { ...described(schema, fieldTexts[name] ?? {}), ...notBoth(exclusive[name]) },
    ]),
  );

function described(schema: Json, texts: Texts): Json {
  const fields = Object.entries((schema.properties ?? {}) as Record<string, Json>);
  const properties = fields.map(([name, field]) => {
    const description = texts[name];
    return [name, description === undefined ? field : { ...field, description }];
  });
  return fields.length === 0 ? schema : { ...schema, properties: Object.fromEntries(properties) };
}

function notBoth(fields: readonly [string, string] | undefined): Json {
  if (fields === undefined) return {};
  const present = fields.map((name) => [name, { not: { type: "null" } }]);
  return { not: { required: fields, properties: Object.fromEntries(present) } };
}
