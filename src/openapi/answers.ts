import * as z from "zod";
import type { DeadLetterView } from "../core/control/find-letters.ts";
import type { LetterGroups, LetterGroupView } from "../core/control/group-letters.ts";
import type { OperationView } from "../core/control/operation-state.ts";
import type { UploadView } from "../core/extras/files/create-upload.ts";
import { errorKinds } from "../core/model/errors.ts";
import { statuses } from "../core/model/status.ts";
import type { WaitView } from "../core/model/suspension.ts";
import type { ChildrenView, TaskView } from "../core/model/task-view.ts";
import { type Tier, tiers } from "../core/model/tier.ts";
import { attemptOutcomes, errorHints } from "../core/model/words.ts";
import type { AttemptView } from "../core/pipeline/end/view.ts";
import type { RescuePass } from "../core/schedules/rescue-state.ts";
import type { QueueView } from "../operations/views.ts";
import { sameAs, withName } from "./json-schema.ts";
import { problem } from "./problems.ts";

/*
 * Schemas of the API's answers. The compiler compares them with the types of the views, and the HTTP tests compare
 * every answer with them.
 */

const id = z.uuid();
const time = z.iso.datetime();
const count = z.int().min(0);
const status = z.enum(statuses);
const tier = z.enum(tiers);
const errorKind = z.enum(errorKinds).nullable();
const nextCursor = z.string().nullable().describe("Value of `cursor` for the next page. Only `null` ends the list.");

/** The last error of a task or attempt. */
const errorFields = {
  error: z.string().nullable(),
  error_type: z.string().nullable().describe("Name of the error's class."),
  error_kind: errorKind.describe("Failure class, which decides about further attempts."),
};

const stack = z.string().nullable();
const stackText =
  "Places of the error and its causes in the sources, at most 2,000 characters. Null: there is no error with a place, or the type is sensitive.";

export const health = withName(
  "Health",
  z.object({
    status: z.literal("ok"),
    version: z.string(),
    dynamodb_url: z.string().optional().describe("Only on the local server."),
    sqs_url: z.string().optional().describe("Only on the local server."),
    s3_url: z.string().optional().describe("Only on the local server."),
    events_url: z.string().optional().describe("Only on the local server."),
    queues: z
      .record(tier, z.object({ url: z.string(), dlq_url: z.string() }))
      .optional()
      .describe("Only on the local server."),
    limits: z.string().optional().describe("Limits in the settings. Only on the local server."),
  }),
);

export const openApi = withName("OpenApi", z.looseObject({ openapi: z.string() }));

export const upload = withName(
  "Upload",
  sameAs<UploadView>()(
    z.object({
      upload_id: id.describe("Id of the upload, for `files` of a submit."),
      method: z.literal("PUT").describe("Method of the request that sends the bytes."),
      url: z.url().describe("URL for the bytes. It needs no token, and works once."),
      headers: z
        .record(z.string(), z.string())
        .describe(
          "Headers of that request, exactly as they are. HTTP libraries and browsers set `content-length` themselves.",
        ),
      expires_at: time.describe("The URL works until then: one hour. A task can take the upload for 24 hours."),
    }),
  ),
);

export const accepted = withName(
  "Accepted",
  z.object({
    task_id: id,
    status,
    poll_url: z.string().describe("Path of the task."),
    created_at: time,
    collected: z
      .int()
      .min(1)
      .optional()
      .describe("Number of the input in the list of the task, from 1. Only with the mode `collect`."),
  }),
);

const place = z.int().min(1).max(100).nullable().optional();

const waitingFor = withName(
  "WaitingFor",
  sameAs<WaitView>()(
    z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("sleep"), until: time }),
      z.object({
        ...{ kind: z.literal("signal"), signals: z.array(z.string()), until: time },
        children: z.array(id).optional(),
      }),
      z.object({ kind: z.literal("child"), children: z.array(id), until: time.optional() }),
      z.object({ kind: z.literal("step"), step: z.string(), attempt: count, until: time }),
      z.object({ kind: z.literal("pause"), of: z.enum(["tier", "type", "tenant"]), place }),
      z.object({ kind: z.literal("breaker"), place }),
      z.object({
        ...{ kind: z.literal("concurrency"), place },
        order: z.literal("strict").optional(),
        held_by: id.nullable().optional(),
      }),
      z.object({
        ...{ kind: z.literal("rate"), place },
        rates: z.int().min(2).optional(),
        per_seconds: z.int().min(1).optional(),
        next_start_at: time.optional(),
      }),
      z.object({ kind: z.literal("unique"), tasks: z.array(id), place }),
    ]),
  ),
);

export const task = withName(
  "Task",
  sameAs<TaskView>()(
    z.object({
      task_id: id,
      type: z.string(),
      status,
      priority: tier,
      progress: z.number().min(0).max(100).nullable(),
      progress_message: z.string().nullable(),
      progress_data: z.unknown(),
      attempts: count.describe("Number of attempts that were started in this round."),
      max_attempts: count,
      tags: z.record(z.string(), z.string()),
      created_at: time,
      updated_at: time,
      started_at: time.nullable(),
      finished_at: time.nullable(),
      run_at: time.nullable(),
      next_attempt_at: time.nullable(),
      waiting_for: waitingFor.nullable(),
      expires_at: time.nullable(),
      retained_until: time
        .nullable()
        .describe("Record and result are deleted after this time. A dead letter is kept for at least 14 days."),
      cancel_requested_at: time.nullable().describe("Time at which the cancel of the running attempt was asked for."),
      outcome: z.string().nullable().describe("The task's own word for how it ended."),
      result: z.unknown().describe("A JSON result of at most 64 KiB. Otherwise null: see `result_url`."),
      result_url: z
        .string()
        .nullable()
        .describe(
          "Path of a file, of a larger JSON result, or of an encrypted one. An acknowledged result is `gone` there.",
        ),
      ...errorFields,
      correlation_id: z.string(),
      requested_by: z.string(),
      schedule_id: id.nullable(),
      scheduled_for: time.nullable(),
      parent_id: id.nullable(),
      children: withName(
        "Children",
        sameAs<ChildrenView>()(
          z.object({
            total: count,
            open: count,
            completed: count,
            failed: count,
            cancelled: count,
            expired: count,
            sealed: z.boolean(),
          }),
        ),
      ).nullable(),
      caused_by: id.nullable(),
      on_failed: withName("OnFailed", z.object({ task_id: id, status })).nullable(),
      tenant_id: z.string().optional().describe("Tenant of the task. Only in a list of all tenants."),
    }),
  ),
);

export const taskList = withName("TaskList", z.object({ tasks: z.array(task), next_cursor: nextCursor }));

export const resultPending = withName("ResultPending", z.object({ task_id: id, status }));

export const attemptList = withName(
  "AttemptList",
  z.object({
    attempts: z.array(
      withName(
        "Attempt",
        sameAs<AttemptView>()(
          z.object({
            round: count,
            number: count,
            started_at: time,
            finished_at: time,
            duration_ms: z.int(),
            outcome: z.enum(attemptOutcomes),
            ...errorFields,
            next_attempt_at: time.nullable(),
            stack: stack.optional().describe(`${stackText} Only for operators and admins.`),
          }),
        ),
      ),
    ),
  }),
);

export const deadLetterList = withName(
  "DeadLetterList",
  z.object({
    dead_letters: z.array(
      withName(
        "DeadLetter",
        sameAs<DeadLetterView>()(
          z.object({
            task_id: id,
            type: z.string(),
            tenant_id: z.string(),
            priority: tier,
            attempts: count,
            ...errorFields,
            fingerprint: z.string(),
            first_failed_at: time,
            last_failed_at: time,
            needs_review: z.boolean(),
            stack: stack.describe(stackText),
            caused_by: id.nullable(),
            input: z.unknown(),
          }),
        ),
      ),
    ),
    next_cursor: nextCursor,
  }),
);

const byTenant = z.record(z.string(), z.int().min(0));

export const letterGroups = withName(
  "DeadLetterGroups",
  sameAs<LetterGroups>()(
    z.object({
      groups: z.array(
        withName(
          "DeadLetterGroup",
          sameAs<LetterGroupView>()(
            z.object({
              fingerprint: z.string(),
              type: z.string(),
              ...errorFields,
              count,
              first_failed_at: time,
              last_failed_at: time,
              task_id: id,
              hint: z
                .enum(errorHints)
                .optional()
                .describe(
                  "Where to look for the cause. `credentials`: another service answered with 401 or 403. `bug`: a TypeError or ReferenceError, so the code is wrong.",
                ),
              by_tenant: byTenant.optional().describe("Number of each tenant. Only in an answer for all tenants."),
            }),
          ),
        ),
      ),
      complete: z.boolean(),
    }),
  ),
);

export const operation = withName(
  "Operation",
  sameAs<OperationView>()(
    z.object({
      operation_id: id,
      status,
      matched: count,
      done: count,
      skipped: count,
      failed: count,
      stopped: z
        .string()
        .optional()
        .describe("Reason why it cancelled itself: the last 20 tasks that it had started all failed again."),
    }),
  ),
);

export const dryRun = withName(
  "DryRun",
  z.object({
    matched: count,
    by_tenant: byTenant.optional().describe("Number of each tenant's. Only for an operation on all tenants."),
    with_callback: count
      .optional()
      .describe("Number of those whose ends send webhooks to a `callback` of their own. Only where there are any."),
  }),
);

export const operationAccepted = withName("OperationAccepted", z.object({ operation_id: id, matched: count }));

withName(
  "Queues",
  sameAs<{ queues: Record<Tier, QueueView>; rescue: Omit<RescuePass, "next"> | null }>()(
    z.object({
      queues: z.record(
        tier,
        withName(
          "Queue",
          z.object({
            visible: count,
            in_flight: count,
            delayed: count,
            retrying: count,
            oldest_age_seconds: z.number().min(0).nullable(),
            dead_letters: count,
            paused: z.boolean(),
            paused_since: time.nullable(),
            refusing_since: time.nullable(),
          }),
        ),
      ),
      rescue: z
        .object({
          at: time,
          whole: z.boolean().describe("True when it read all tasks. The next pass goes on where this one stopped."),
          open: count.describe("Open tasks that it saw."),
          sent: count.describe("Tasks whose message it sent again."),
          ended: count.describe("Tasks that it ended."),
          left: count.describe(
            "Late tasks that it left alone, as their tier is behind, or their message has the only copy of their input.",
          ),
        })
        .nullable()
        .describe("The last daily look for open tasks that nothing will wake. Null: there was none yet."),
    }),
  ),
);

export const batch = withName(
  "BatchAccepted",
  z.object({
    accepted: count.describe("Number of accepted entries, also of those that an earlier request made."),
    refused: count.describe("Number of refused entries."),
    tasks: z.array(
      z.union([
        withName(
          "BatchTask",
          z.object({
            ...accepted.shape,
            replayed: z.boolean().describe("True when an earlier request with the same key made the task."),
          }),
        ),
        withName("BatchRefusal", z.object({ problem: problem.describe("The reason. 429 and 503 may be sent again.") })),
      ]),
    ),
  }),
);
