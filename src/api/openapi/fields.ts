import type { Text } from "../acts/act.ts";
import { files } from "../acts/index.ts";
import { withChoice } from "./choices.ts";
import type { Json } from "./json-schema.ts";

/** Descriptions of fields, by their names. */
type Texts = Readonly<Record<string, string>>;

/** Fields of a submit and of a schedule's task. */
const taskOptions: Texts = {
  type: "Name of the task type.",
  input: "Checked against the type's JSON Schema before anything is written.",
  priority: "Tier of the task. Default: the type's own.",
  max_attempts: "Maximum number of attempts in a round. Default: the type's own.",
  expires_in_seconds: "The task expires if no attempt has started within this time after it was first due.",
  retention_seconds: "Record and result are kept for this time after the task's end. Default: a week.",
  tags: "At most 10 tags, for `GET /tasks?tag.NAME=VALUE`.",
  callback: "A signed webhook is sent there at the task's end.",
  "callback.url": "An `https` URL with a public host.",
  "callback.include_result": "True: the webhook has the result if it is JSON of at most 64 KiB. Default: false.",
  result_key: "Public key as a JWK. The result is stored only encrypted to it.",
};

/** Fields of a submit. */
const submitOptions: Texts = {
  ...taskOptions,
  unique:
    "Effect of the submit if another task of the type has the same key and has not ended. See `npx offload docs unique`.",
  "unique.key": "Names the task among those of its type that have not ended.",
  "unique.mode":
    "Effect when a task has the key. `existing`: the answer is 202 with that task. `reject`: it is 409. `replace`: that task gets the new input as long as it waits. " +
    "`debounce`: as `replace`, and the task's wait begins again. With these two modes, a submit makes a new task if the earlier one has started. " +
    "`restart`: that task is cancelled, and a new one starts when it is over; 409 if its type cannot be cancelled. " +
    "`collect`: the input is added to the list of that task, which starts after the wait of its type. Expected for a type that collects, and only there.",
  "unique.wait_seconds": "Wait after each submit. Required with `debounce`, and only allowed there.",
  "unique.max_wait_seconds":
    "Only with `debounce`: the task is due no later than this time after its first submit. Default: ten times `wait_seconds`.",
  files: "Ids of uploads, by the names of the type's files. An upload belongs to one task.",
  delay_seconds: "The task starts no earlier than after this time. Not with `run_at`.",
  run_at: "The task starts no earlier than at this time. A time in the past means now.",
};

const rule: Texts = {
  cron: "Five fields as in crontab: minute, hour, day of month, month, day of week.",
  every_seconds:
    "Interval, a multiple of 60. Without `starts_at` it counts from the schedule's creation: its first time is the last full minute within one interval.",
  timezone: "IANA name, such as `Europe/Berlin`.",
  starts_at: "The first scheduled time is not before this time.",
  ends_at: "No scheduled time is at or after this time.",
};

const scheduleOptions: Texts = {
  ...rule,
  enabled: "False: the schedule submits nothing.",
  overlap: "`skip` submits nothing while the last task has not ended.",
  alarm:
    "True: each time without a task counts for the alarm `schedule-missed`, also the first one that `overlap` skips.",
  task: "The task that each scheduled time submits.",
};

const selection: Texts = {
  task_ids: "Ids of dead letters.",
  filter: "Selects dead letters by the fields of `GET /dead-letters`.",
  dry_run: "True: the request only counts the matches.",
};

const now = "True: an attempt that has not stopped 5 seconds after the request is ended with its process.";

const taskSelection: Texts = {
  task_ids: "Ids of tasks.",
  filter: "Selects tasks by these fields, as `GET /tasks`.",
  "filter.tags": "Only tasks with all these tags.",
  dry_run: selection.dry_run ?? "",
};

const perSecond = (what: string) => ({
  per_second: `Maximum number of ${what} per second. Default: 10 at first, doubled every 10 seconds in which started tasks complete.`,
});

/** Descriptions of query parameters, by name. */
export const parameterTexts: Texts = {
  limit: "Maximum number of items of the page.",
  q: "Only tasks that this text matches: as the start of an id (4 characters or more), a correlation id, a tag's value or `name=value`, or a part of the error's text. Upper and lower case are the same. Tasks that match by a tag or by a client's correlation id come first. A page may be empty although others follow.",
  cursor: "`next_cursor` of the page before.",
  status: "Only tasks with this status.",
  type: "Only tasks of this type.",
  priority: "Only tasks of this tier.",
  retrying: "True: only tasks that wait for another attempt after a failed one. False: all others.",
  unique_key: "Only tasks whose submit had this unique key; with `type`. An operator finds those of all submitters.",
  created_after: "Only tasks that were submitted at or after this time.",
  created_before: "Only tasks that were submitted before this time.",
  error_type: "Only dead letters with this class of error.",
  error_kind: "Only dead letters of this failure class.",
  fingerprint: "Only dead letters with this fingerprint of their error.",
  failed_after: "Only dead letters that failed at or after this time.",
  failed_before: "Only dead letters that failed before this time.",
  count: "Number of times.",
  scope: "`deployment`: actions that concern all tenants; requires the role admin.",
  actor: "Only actions of this principal.",
  action: "Only this action.",
  task_id: "Only actions on this task.",
  after: "Only actions at or after this time.",
  before: "Only actions before this time.",
};

/**
 * Descriptions of the fields of requests, by schema and field; `outer.inner` is a field inside another. The schemas do
 * not have them, as functions load these at their start. Schemas of answers do.
 */
const fieldTexts: Readonly<Record<string, Texts>> = {
  ...textsOfActs(),
  Submit: submitOptions,
  Batch: { tasks: "The submits." },
  BatchEntry: {
    ...submitOptions,
    idempotency_key:
      "A repeat with the same key and entry returns the first task. Default: a key that is made from `Idempotency-Key`.",
  },
  ScheduledTask: taskOptions,
  NewSchedule: { name: "Unique in the tenant.", ...scheduleOptions },
  ScheduleDefinition: { name: "The name in the path.", ...scheduleOptions },
  ScheduleChange: scheduleOptions,
  SchedulePreview: {
    ...rule,
    from: "Default: now.",
    created_at: "Creation of the schedule that gets the rule, from which `every_seconds` counts. Default: `from`.",
    count: "Number of times. Default: 5.",
  },
  NewUpload: {
    content_type: "Media type of the file.",
    size_bytes: "Exact size of the file, at most 5 GiB.",
    file_name: "Name of the file, for the handler.",
    sha256: "SHA-256 of the bytes in hexadecimal. The bucket refuses other bytes. Default: any bytes of that size.",
  },
  NewChannel: { scope: "`own`: tasks that the caller submitted. `tenant`: all tasks of the tenant. Default: `own`." },
  RateChange: { limit: "Starts in a period, evenly spaced.", per_seconds: "Length of the period." },
  CancelTasks: { ...taskSelection, now },
  RunTasksNow: { ...taskSelection, ...perSecond("tasks") },
  RetryTasks: { ...taskSelection, ...perSecond("retries") },
  Replay: { ...selection, ...perSecond("replays") },
  Discard: selection,
  Schedule: scheduleOptions,
  NewKeyRequest: {
    role: "Role of the key.",
    inputs: "True: the viewer may read inputs and logs. Other roles have no such permission.",
    label: "Text that the list of keys shows.",
    expires_at: "End of the key, in the future. Default: never.",
  },
  TenantLimitsChange: {
    submits_per_second: "Accepted submits per second, on average.",
    burst: "Number of submits that are accepted at once after a pause.",
    tasks_in_progress: "Accepted tasks that have not ended.",
    request_bytes: "Largest request body, in bytes.",
    schedules: "Schedules, without those of the app's code. Default: 100.",
    open_upload_bytes:
      "Bytes of the announced uploads that no task has taken, each as at least 1 MiB and for at most 25 hours. Default: 107374182400 (100 GiB).",
  },
};

/** Meanings of the fields of the bodies of acts. */
function textsOfActs(): Record<string, Texts> {
  const all = Object.values(files).flatMap(({ texts }) => Object.values<Text>(texts));
  return Object.fromEntries(all.flatMap(({ body, fields }) => (body && fields ? [[body, fields as Texts]] : [])));
}

/** Adds the descriptions of fields to the schemas, and to those of requests which fields exclude each other. */
export const withFieldTexts = (schemas: Readonly<Record<string, Json>>): Record<string, Json> =>
  Object.assign(
    {},
    ...Object.entries(schemas).map(([name, schema]) => withChoice(name, described(schema, fieldTexts[name] ?? {}))),
  );

function described(schema: Json, texts: Texts, prefix = ""): Json {
  const fields = Object.entries((schema.properties ?? {}) as Record<string, Json>);
  const properties = fields.map(([name, given]) => {
    const description = texts[`${prefix}${name}`];
    const field = described(given, texts, `${prefix}${name}.`);
    return [name, description === undefined ? field : { ...field, description }];
  });
  return fields.length === 0 ? schema : { ...schema, properties: Object.fromEntries(properties) };
}
