import * as z from "zod";
import type { DeadLetterView } from "../../core/control/find-dead-letters.ts";
import type { LetterGroups, LetterGroupView } from "../../core/control/group-dead-letters.ts";
import type { UploadView } from "../../core/extras/files/uploads.ts";
import { errorKinds } from "../../core/model/errors.ts";
import type { WaitView } from "../../core/model/suspension.ts";
import type { ChildrenView, TaskView } from "../../core/model/task-view.ts";
import { attemptOutcomes, errorHints } from "../../core/model/words.ts";
import type { AttemptView } from "../../core/pipeline/end/view.ts";
import { object, sameAs, viewOf, withName } from "./json-schema.ts";
import {
  count,
  flag,
  id,
  idOrNull,
  nextCursor,
  number,
  pageOf,
  status,
  text,
  textOrNull,
  tier,
  time,
  timeOrNull,
} from "./words.ts";

/*
 * Schemas of the API's answers. The compiler compares them with the types of the views, and the HTTP tests compare
 * every answer with them.
 */

const errorKind = z.enum(errorKinds).nullable();

/** The last error of a task or attempt. */
const errorFields = {
  error: textOrNull.describe("Message of the last error. Null: there was none."),
  error_type: textOrNull.describe("Name of the error's class."),
  error_kind: errorKind.describe("Failure class, which decides about further attempts."),
};

const stack = textOrNull;
const stackText =
  "Places of the error and its causes in the sources, at most 2,000 characters. Null: there is no error with a place, or the type is sensitive.";

object("Health", {
  status: z.literal("ok").describe("Always `ok`."),
  version: text.describe("Version of Offload."),
  dynamodb_url: text.optional().describe("Only on the local server."),
  sqs_url: text.optional().describe("Only on the local server."),
  s3_url: text.optional().describe("Only on the local server."),
  events_url: text.optional().describe("Only on the local server."),
  queues: z
    .record(tier, z.object({ url: text, dlq_url: text }))
    .optional()
    .describe("Only on the local server."),
  limits: text.optional().describe("Limits in the settings. Only on the local server."),
});

withName("OpenApi", z.looseObject({ openapi: text.describe("Version of OpenAPI.") }));

viewOf<UploadView>()("Upload", {
  upload_id: id.describe("Id of the upload, for `files` of a submit."),
  method: z.literal("PUT").describe("Method of the request that sends the bytes."),
  url: z.url().describe("URL for the bytes. It needs no token, and works once."),
  headers: z
    .record(text, text)
    .describe(
      "Headers of that request, exactly as they are. HTTP libraries and browsers set `content-length` themselves.",
    ),
  expires_at: time.describe("The URL works until then: one hour. A task can take the upload for 24 hours."),
});

export const accepted = object("Accepted", {
  task_id: id.describe("Id of the task."),
  status: status.describe("Status of the task."),
  poll_url: text.describe("Path of the task."),
  created_at: time.describe("Time of the submit."),
  collected: number
    .optional()
    .describe("Number of the input in the list of the task, from 1. Only with the mode `collect`."),
});

const place = z
  .int()
  .min(1)
  .max(100)
  .nullable()
  .optional()
  .describe("Place in line, from 1. Null: beyond the hundredth, or unknown. Absent in lists.");
const until = time.describe("The task continues at this time at the latest. Absent: it waits for its children only.");
const children = z.array(id).describe("Ids of the children that the handler awaits, at most 10 of them.");

const waitingFor = withName(
  "WaitingFor",
  sameAs<WaitView>()(
    z
      .discriminatedUnion("kind", [
        z.object({ kind: z.literal("sleep"), until }),
        z.object({
          kind: z.literal("signal"),
          signals: z.array(text).describe("Names of the signals."),
          until,
          children: children.optional(),
        }),
        z.object({ kind: z.literal("child"), children, until: until.optional() }),
        z.object({
          kind: z.literal("step"),
          step: text.describe("Name of the step."),
          attempt: count.describe("Number of the step's next attempt in the round, from 2."),
          until,
        }),
        z.object({
          kind: z.literal("pause"),
          of: z.enum(["tier", "type", "tenant"]).describe("The thing that is paused."),
          place,
        }),
        z.object({ kind: z.literal("breaker"), place }),
        z.object({
          kind: z.literal("concurrency"),
          place,
          order: z
            .literal("strict")
            .optional()
            .describe(
              "`strict`: the task before it has not ended for good. Absent: as many tasks of its key run as may.",
            ),
          held_by: idOrNull
            .optional()
            .describe(
              "Id of the task of its key that has its turn, until it has ended for good. Null: none has now, or it is unknown. Absent in lists, for submitters, and without `order`.",
            ),
        }),
        z.object({
          kind: z.literal("rate"),
          place,
          rates: z
            .int()
            .min(2)
            .optional()
            .describe("Number of the type's rates, all of which must allow its start. Absent: it has one."),
          per_seconds: number
            .optional()
            .describe(
              "The time of the rate that allows the next start of its key last. Absent in lists, for one rate, and while it is unknown.",
            ),
          next_start_at: time
            .optional()
            .describe(
              "From then on all rates allow the next start of its key, which the first task in line takes. Absent in lists, for one rate, and while it is unknown.",
            ),
        }),
        z.object({
          kind: z.literal("unique"),
          tasks: z.array(id).describe("Ids of the tasks that have to be over before it starts."),
          place,
        }),
      ])
      .describe(
        "`sleep`: the task waits for a time. `signal`: for one of some signals. `step`: for the next attempt of a step. `child`: for the end of one of some children. `pause`: for the end of a pause. `breaker`: until its type fails less. `concurrency`: for a place. `rate`: for its turn. `unique`: for the end of the tasks that had its unique key.",
      ),
  ),
);

export const task = viewOf<TaskView>()("Task", {
  task_id: id.describe("Id of the task."),
  type: text.describe("Name of the task type."),
  status: status.describe("Status of the task."),
  priority: tier.describe("Tier of the task."),
  progress: z
    .number()
    .min(0)
    .max(100)
    .nullable()
    .describe("Progress in percent that the handler reported. It never goes down within an attempt."),
  progress_message: textOrNull.describe("Text that the handler reported with it, at most 200 characters."),
  progress_data: z.unknown().describe("JSON that the handler reported with it, at most 1 KiB. Null: none."),
  attempts: count.describe("Number of attempts that were started in this round."),
  max_attempts: count.describe("Maximum number of attempts in a round."),
  tags: z.record(text, text).describe("Tags of the submit."),
  created_at: time.describe("Time of the submit."),
  updated_at: time.describe("Time of the last change."),
  started_at: timeOrNull.describe("Start of the last attempt."),
  finished_at: timeOrNull.describe("Time of the end."),
  run_at: timeOrNull.describe("Earliest start that the submit asked for."),
  next_attempt_at: timeOrNull.describe("Earliest start of the next attempt, while the task waits for one."),
  waiting_for: waitingFor
    .nullable()
    .describe(
      "The thing that the suspended attempt or the start of the task waits for. Null: the task waits for a worker, or does not wait.",
    ),
  expires_at: timeOrNull.describe("The task expires if no attempt has started by this time."),
  retained_until: timeOrNull.describe(
    "Record and result are deleted after this time. A dead letter is kept for at least 14 days.",
  ),
  cancel_requested_at: timeOrNull.describe("Time at which the cancel of the running attempt was asked for."),
  outcome: textOrNull.describe("The task's own word for how it ended."),
  result: z.unknown().describe("A JSON result of at most 64 KiB. Otherwise null: see `result_url`."),
  result_url: textOrNull.describe(
    "Path of a file, of a larger JSON result, or of an encrypted one. An acknowledged result is `gone` there.",
  ),
  ...errorFields,
  correlation_id: text.describe("Id of the request, which is also in the log lines."),
  requested_by: text.describe("The submitter: id of an API key, or subject of a token."),
  schedule_id: idOrNull.describe("The schedule that submitted the task."),
  scheduled_for: timeOrNull.describe("The scheduled time that submitted the task."),
  parent_id: idOrNull.describe("The task whose handler submitted this one."),
  children: viewOf<ChildrenView>()("Children", {
    total: count.describe("Number of spawned children."),
    open: count.describe("Children that have not ended. In a large family these numbers lag by some children."),
    completed: count.describe("Completed children."),
    failed: count.describe("Failed children."),
    cancelled: count.describe("Cancelled children."),
    expired: count.describe("Expired children."),
    sealed: flag.describe("False while the handler still spawns."),
  })
    .nullable()
    .describe("Numbers of the children. Null: the task has none."),
  caused_by: idOrNull.describe("The failed task whose `onFailed` this task runs."),
  on_failed: object("OnFailed", { task_id: id.describe("Its id."), status: status.describe("Its status.") })
    .nullable()
    .describe("The task that runs the `onFailed` of this failed task. Null: there is none, or it has not started."),
  tenant_id: text.optional().describe("Tenant of the task. Only in a list of all tenants."),
});

pageOf("TaskList", "tasks", task, "The tasks of this page.", nextCursor);

object("ResultPending", {
  task_id: id.describe("Id of the task."),
  status: status.describe("Status of the task."),
});

const attempt = viewOf<AttemptView>()("Attempt", {
  round: count.describe("Number of the round. A retry of a failed task starts a new one."),
  number: count.describe("Number of the attempt in its round, from 1."),
  started_at: time.describe("Start of the attempt."),
  finished_at: time.describe("End of the attempt."),
  duration_ms: z.int().describe("Duration in milliseconds."),
  outcome: z.enum(attemptOutcomes).describe("End of the attempt. `retried`: it failed, and another one follows."),
  ...errorFields,
  error: textOrNull.describe("Message of the error."),
  next_attempt_at: timeOrNull.describe("Earliest start of the next attempt."),
  stack: stack.optional().describe(`${stackText} Only for operators and admins.`),
});

object("AttemptList", {
  attempts: z.array(attempt).describe("Every attempt that has ended, oldest first."),
});

const deadLetter = viewOf<DeadLetterView>()("DeadLetter", {
  task_id: id.describe("Id of the task."),
  type: text.describe("Name of the task type."),
  tenant_id: text.describe("Tenant of the task."),
  priority: tier.describe("Tier of the task."),
  attempts: count.describe("Number of attempts in the last round."),
  ...errorFields,
  fingerprint: text.describe(
    "Short name of the error. Errors whose texts differ only in ids, numbers, times and quoted texts have the same.",
  ),
  first_failed_at: time.describe("End of the first failed round."),
  last_failed_at: time.describe("End of the last attempt."),
  needs_review: flag.describe("True when a person must decide: the handler threw `BusinessRuleViolation`."),
  stack: stack.describe(stackText),
  caused_by: idOrNull.describe("The failed task whose `onFailed` failed. Null: the letter is of another type."),
  input: z.unknown().describe("Input of the task."),
});

pageOf("DeadLetterList", "dead_letters", deadLetter, "The dead letters of this page.", nextCursor);

export const byTenant = z.record(text, count);

const deadLetterGroup = viewOf<LetterGroupView>()("DeadLetterGroup", {
  fingerprint: text.describe("Short name of the error, for the filter `fingerprint`."),
  type: text.describe("Name of the task type."),
  ...errorFields,
  error: textOrNull.describe("Error message of the newest dead letter."),
  count: count.describe("Number of dead letters."),
  first_failed_at: time.describe("Earliest failure of their tasks."),
  last_failed_at: time.describe("Failure of the newest dead letter."),
  task_id: id.describe("Task of the newest dead letter."),
  hint: z
    .enum(errorHints)
    .optional()
    .describe(
      "Where to look for the cause. `credentials`: another service answered with 401 or 403. `bug`: a TypeError or ReferenceError, so the code is wrong.",
    ),
  by_tenant: byTenant.optional().describe("Number of each tenant. Only in an answer for all tenants."),
});

viewOf<LetterGroups>()("DeadLetterGroups", {
  groups: z.array(deadLetterGroup).describe("The groups, the largest first."),
  complete: flag.describe(
    "False: older dead letters were not read, or small groups were left out. Narrow `failed_after` and `failed_before`.",
  ),
});
