import type { Text } from "../operations/act.ts";
import { files } from "../operations/index.ts";
import { adminTexts } from "./admin-texts.ts";
import { withChoice } from "./choices.ts";
import type { Json } from "./json-schema.ts";
import { submitOptions, type Texts, taskOptions } from "./submit-texts.ts";

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

/** Fields that a task's answer and a dead letter have in common. */
const taskFields = {
  task_id: "Id of the task.",
  type: "Name of the task type.",
  priority: "Tier of the task.",
  error: "Message of the last error. Null: there was none.",
} as const satisfies Texts;

const problemFields: Texts = {
  code: "The code of the problem.",
  title: "Short text of the code.",
  status: "HTTP status.",
  detail: "Explanation for people.",
  errors: "Faults of the request, by field.",
  correlation_id: "Id of the request, which is also in the log lines.",
};

const answerTexts: Readonly<Record<string, Texts>> = {
  Health: { status: "Always `ok`.", version: "Version of Offload." },
  Channel: {
    channel_id: "Id of the channel, for log lines.",
    url: "URL for one WebSocket connection. It needs no token, so it is a secret.",
    expires_at: "Time until which the URL works.",
  },
  Accepted: { task_id: taskFields.task_id, status: "Status of the task.", created_at: "Time of the submit." },
  BatchTask: { task_id: taskFields.task_id, status: "Status of the task.", created_at: "Time of the submit." },
  BatchAccepted: { tasks: "The outcome of each entry, in the request's order." },
  Task: {
    ...taskFields,
    status: "Status of the task.",
    progress: "Progress in percent that the handler reported. It never goes down within an attempt.",
    progress_message: "Text that the handler reported with it, at most 200 characters.",
    progress_data: "JSON that the handler reported with it, at most 1 KiB. Null: none.",
    max_attempts: "Maximum number of attempts in a round.",
    tags: "Tags of the submit.",
    created_at: "Time of the submit.",
    updated_at: "Time of the last change.",
    started_at: "Start of the last attempt.",
    finished_at: "Time of the end.",
    run_at: "Earliest start that the submit asked for.",
    next_attempt_at: "Earliest start of the next attempt, while the task waits for one.",
    waiting_for:
      "The thing that the suspended attempt or the start of the task waits for. Null: the task waits for a worker, or does not wait.",
    expires_at: "The task expires if no attempt has started by this time.",
    correlation_id: "Id of the request, which is also in the log lines.",
    requested_by: "The submitter: id of an API key, or subject of a token.",
    schedule_id: "The schedule that submitted the task.",
    scheduled_for: "The scheduled time that submitted the task.",
    parent_id: "The task whose handler submitted this one.",
    children: "Numbers of the children. Null: the task has none.",
    caused_by: "The failed task whose `onFailed` this task runs.",
    on_failed: "The task that runs the `onFailed` of this failed task. Null: there is none, or it has not started.",
  },
  OnFailed: { task_id: "Its id.", status: "Its status." },
  WaitingFor: {
    kind: "`sleep`: the task waits for a time. `signal`: for one of some signals. `step`: for the next attempt of a step. `child`: for the end of one of some children. `pause`: for the end of a pause. `breaker`: until its type fails less. `concurrency`: for a place. `rate`: for its turn. `unique`: for the end of the tasks that had its unique key.",
    signals: "Names of the signals.",
    children: "Ids of the children that the handler awaits, at most 10 of them.",
    step: "Name of the step.",
    attempt: "Number of the step's next attempt in the round, from 2.",
    until: "The task continues at this time at the latest. Absent: it waits for its children only.",
    of: "The thing that is paused.",
    tasks: "Ids of the tasks that have to be over before it starts.",
    order: "`strict`: the task before it has not ended for good. Absent: as many tasks of its key run as may.",
    held_by:
      "Id of the task of its key that has its turn, until it has ended for good. Null: none has now, or it is unknown. Absent in lists, for submitters, and without `order`.",
    rates: "Number of the type's rates, all of which must allow its start. Absent: it has one.",
    per_seconds:
      "The time of the rate that allows the next start of its key last. Absent in lists, for one rate, and while it is unknown.",
    next_start_at:
      "From then on all rates allow the next start of its key, which the first task in line takes. Absent in lists, for one rate, and while it is unknown.",
    place: "Place in line, from 1. Null: beyond the hundredth, or unknown. Absent in lists.",
  },
  Children: {
    total: "Number of spawned children.",
    open: "Children that have not ended. In a large family these numbers lag by some children.",
    completed: "Completed children.",
    failed: "Failed children.",
    cancelled: "Cancelled children.",
    expired: "Expired children.",
    sealed: "False while the handler still spawns.",
  },
  TaskList: { tasks: "The tasks of this page." },
  TypeList: { types: "The task types, without probes where these are not registered." },
  ResultPending: { task_id: taskFields.task_id, status: "Status of the task." },
  AttemptList: { attempts: "Every attempt that has ended, oldest first." },
  Attempt: {
    round: "Number of the round. A retry of a failed task starts a new one.",
    number: "Number of the attempt in its round, from 1.",
    started_at: "Start of the attempt.",
    finished_at: "End of the attempt.",
    duration_ms: "Duration in milliseconds.",
    outcome: "End of the attempt. `retried`: it failed, and another one follows.",
    error: "Message of the error.",
    next_attempt_at: "Earliest start of the next attempt.",
  },
  DeadLetterList: { dead_letters: "The dead letters of this page." },
  DeadLetter: {
    ...taskFields,
    tenant_id: "Tenant of the task.",
    attempts: "Number of attempts in the last round.",
    fingerprint:
      "Short name of the error. Errors whose texts differ only in ids, numbers, times and quoted texts have the same.",
    first_failed_at: "End of the first failed round.",
    last_failed_at: "End of the last attempt.",
    needs_review: "True when a person must decide: the handler threw `BusinessRuleViolation`.",
    caused_by: "The failed task whose `onFailed` failed. Null: the letter is of another type.",
    input: "Input of the task.",
  },
  DeadLetterGroups: {
    groups: "The groups, the largest first.",
    complete:
      "False: older dead letters were not read, or small groups were left out. Narrow `failed_after` and `failed_before`.",
  },
  DeadLetterGroup: {
    fingerprint: "Short name of the error, for the filter `fingerprint`.",
    type: taskFields.type,
    error: "Error message of the newest dead letter.",
    count: "Number of dead letters.",
    first_failed_at: "Earliest failure of their tasks.",
    last_failed_at: "Failure of the newest dead letter.",
    task_id: "Task of the newest dead letter.",
  },
  Operation: {
    operation_id: "Id of the operation.",
    status: "Status of the operation.",
    matched: "Number of selected tasks.",
    done: "Number of tasks that were replayed, discarded, cancelled or retried.",
    skipped: "Number of tasks that had changed before their turn.",
    failed: "Number of tasks that could not be changed.",
  },
  DryRun: { matched: "Number of selected tasks." },
  OperationAccepted: { operation_id: "Id of the operation.", matched: "Number of selected tasks." },
  Queues: { queues: "The queue of each tier." },
  Queue: {
    visible: "Messages that wait for a worker.",
    in_flight: "Messages that workers hold.",
    delayed: "Messages that wait for their time.",
    oldest_age_seconds: "Age of the oldest message. Null: unknown.",
    retrying: "Tasks that wait for another attempt after a failed one. A number above some thousands is a lower bound.",
    dead_letters: "Messages in the tier's dead-letter queue.",
    paused: "True when the tier is paused.",
    paused_since: "Time of the pause. Null: the tier is not paused.",
    refusing_since:
      "Time since which submits are refused with `queue_full`. Null: none was refused in the last two minutes.",
  },
  ...adminTexts,
  Schedule: {
    ...scheduleOptions,
    schedule_id: "Id of the schedule.",
    name: "Name of the schedule, unique among the tenant's schedules of the same `source`.",
    source: "`code`: the app's code defines the schedule. `api`: a client made it.",
    for_each_tenant: "True: the schedule submits one task for every known tenant at each of its times.",
    paused_since: "Time of the pause. Null: it is not paused, or was paused by an earlier release.",
    paused_by: "The principal that paused it.",
    next_run_at: "Next scheduled time. Null also for a rate of the code that has not fired yet.",
    last_run_at: "Last scheduled time.",
    last_task_id: "Task of the last scheduled time.",
    skipped: "Number of times that submitted nothing.",
    last_skipped_at: "Last time that submitted nothing.",
    last_skip_reason: "Reason why it submitted nothing.",
    last_error: "Error of the last firing that failed.",
    last_error_at: "Time of that firing.",
    created_by: "The principal that created the schedule, which submits its tasks.",
    created_at: "Time of the creation. Null for one of the code.",
    updated_at: "Time of the last change.",
  },
  ScheduleList: { schedules: "The schedules of this page." },
  NextTimes: { next: "The next scheduled times." },
  Problem: problemFields,
  OpenApi: { openapi: "Version of OpenAPI." },
};

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
 * Descriptions of fields, by schema and field; `outer.inner` is a field inside another. They are not in the schemas
 * themselves, which functions load at their start.
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
  RunTasksNow: {
    ...taskSelection,
    per_second:
      "Maximum number of tasks per second. Default: 10 at first, doubled every 10 seconds in which started tasks complete.",
  },
  RetryTasks: {
    ...taskSelection,
    per_second:
      "Maximum number of retries per second. Default: 10 at first, doubled every 10 seconds in which started tasks complete.",
  },
  Replay: {
    ...selection,
    per_second:
      "Maximum number of replays per second. Default: 10 at first, doubled every 10 seconds in which started tasks complete.",
  },
  Discard: selection,
  ...answerTexts,
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
