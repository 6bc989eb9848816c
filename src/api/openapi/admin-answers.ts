import * as z from "zod";
import { type AlarmView, historyMetrics, type MetricSeries } from "../../core/control/metric-history.ts";
import type { Limits } from "../../core/limits/limits.ts";
import { alarmStates, roles } from "../../core/model/words.ts";
import { type Deployment, maxDeployments } from "../../core/schedules/ports.ts";
import type { AuditEntry, Caller, KeyInfo, Metrics, TenantInfo, TenantLimits } from "../acts/views.ts";
import { object, sameAs, viewOf } from "./json-schema.ts";
import { count, flag, pageOf, text, textOrNull, tier, time, timeOrNull } from "./words.ts";

viewOf<Caller>()("Identity", {
  tenant_id: text.describe("Tenant of the caller, or the one that an admin names by `tenant`."),
  principal: text.describe("Id of the API key, or subject of the token."),
  role: z.enum(roles).describe("Role of the caller."),
  inputs: z.literal(true).optional().describe("A viewer that may read inputs and logs. Absent for all others."),
});

const key = viewOf<KeyInfo>()("Key", {
  key_id: text.describe("Id of the key: the principal of its requests."),
  tenant_id: text.describe("Tenant of the key."),
  role: z.enum(roles).describe("Role of the key."),
  inputs: flag.describe("True: a viewer that may read inputs and logs."),
  label: textOrNull.describe("Text for the list. Null: none was given."),
  created_at: timeOrNull.describe("Null: the key was written by hand."),
  last_used_at: timeOrNull.describe("Up to ten minutes before the last use. Null: not used yet."),
  expires_at: timeOrNull.describe("Null: it does not expire."),
  revoked_at: timeOrNull.describe("Null: it is not revoked."),
});

viewOf<KeyInfo & { key: string }>()("NewKey", { ...key.shape, key: text.describe("The key. It is not shown again.") });

object("KeyList", { keys: z.array(key).describe("Oldest first, also revoked and expired.") });

const tenant = sameAs<TenantInfo>()(
  z.object({
    tenant_id: text.describe("Id of the tenant."),
    paused_since: timeOrNull.describe("Time of the pause. Null: it is not paused."),
    open: count.describe("Tasks that have not ended."),
    retrying: count.describe("Of these, the tasks that wait for another attempt after a failed one."),
    dead_letters: count.describe("Dead letters."),
    complete: flag.describe("False: the tenant has more than the 1,000 newest tasks or dead letters that are counted."),
  }),
);

pageOf("TenantList", "tenants", tenant, "The tenants of this page, in the order of their ids.");

const limit = z.number().nullable();

viewOf<TenantLimits & { in_force: Record<keyof Limits, number | null> }>()("TenantLimits", {
  tenant_id: text.describe("Id of the tenant."),
  limits: z
    .record(text, limit)
    .describe("Limits that were set for this tenant. Null: no limit, even if the default has one."),
  in_force: z
    .object({
      submits_per_second: limit.describe("Accepted submits per second, on average."),
      burst: limit.describe("Submits accepted at once after a pause."),
      tasks_in_progress: limit.describe("Accepted tasks that have not ended."),
      request_bytes: limit.describe("Largest request body, in bytes."),
      schedules: limit.describe("Schedules, without those of the app's code."),
      open_upload_bytes: limit.describe("Bytes of the announced uploads that no task has taken."),
    })
    .describe("Limits that apply, with those of the deployment. Null: no limit."),
});

/** JSON Schema has no readonly pair. */
type Series = Omit<MetricSeries, "points"> & { points: number[][] };

const oneSeries = z.object({
  name: z
    .enum([...new Set(historyMetrics.map(({ name }) => name))])
    .describe("`queue_wait_ms`: from an attempt's due time to its start. `processing_ms`: from its start to its end."),
  statistic: z
    .enum([...new Set(historyMetrics.map(({ statistic }) => statistic))])
    .describe("Sum of the period, or a percentile."),
  tier: tier.describe("Tier of the measurements."),
  points: z
    .array(z.array(z.number()).length(2))
    .describe("Start of a period in epoch seconds, and the value. A period without measurements is left out."),
});

viewOf<Omit<Metrics, "series"> & { series: Series[] }>()("Metrics", {
  from: time.describe("Start of the first period."),
  to: time.describe("End of the last period."),
  period_seconds: z.int().describe("Length of each period. There are at most 72."),
  series: z.array(oneSeries).describe("The metrics of each tier."),
});

const alarm = sameAs<AlarmView>()(
  z.object({
    name: text.describe("Its last part is a section of the runbook."),
    state: z.enum(alarmStates).describe("State of the alarm."),
    description: textOrNull.describe("Reason for the alarm, and the place to look."),
    since: timeOrNull.describe("Time since which it has this state."),
  }),
);

object("AlarmList", { alarms: z.array(alarm).describe("The alarms, in the order of their names.") });

const deployment = sameAs<Deployment>()(
  z.object({
    started_at: time.describe(
      "Time at which it started: from then on the new code may have run. Of the first deployment its end.",
    ),
    deployed_at: time.describe("Time at which it ended."),
    version: text.describe("Offload's version."),
    rolled_back: flag.describe("True: it failed, and what was there before is there again."),
  }),
);

object("DeploymentList", {
  deployments: z.array(deployment).max(maxDeployments).describe("Newest first."),
});

const entry = viewOf<AuditEntry>()("AuditEntry", {
  audit_id: text.describe("Id of the entry."),
  at: time.describe("Time of the request."),
  actor: text.describe(
    "Principal of the caller. `cli:<user>`: a command that works on the table itself. `offload`: a type that paused itself after its resume.",
  ),
  role: z
    .enum(roles)
    .nullable()
    .describe("Role of the caller. Null: the actor has access to the table, or is `offload`."),
  action: text.describe("`operationId` of the request; for a command its words, such as `keys create`."),
  target: z.record(text, text).describe("Parts of the request's path, such as `task_id`."),
  status: z
    .int()
    .nullable()
    .describe("HTTP status of the answer. Null: none yet, or the process died, and the change may have been made."),
  request: z.unknown().describe("Body of the request. Null: it has none, or one that may have an input of a task."),
  correlation_id: text.describe("`X-Correlation-Id` of the request."),
});

pageOf("AuditList", "entries", entry, "Newest first. A page may have fewer than `limit` although others follow.");
