import * as z from "zod";
import { historyMetrics } from "../core/control/metric-history.ts";
import type { Limits } from "../core/limits/limits.ts";
import { roles } from "../core/model/identity.ts";
import { alarmStates } from "../core/model/words.ts";
import { type Deployment, mostDeployments } from "../core/schedules/ports.ts";
import { metricsSchema } from "../http/metrics.ts";
import type { AnyRouteName } from "../http/routes.ts";
import { tenantListSchema } from "../http/tenants.ts";
import type { Caller, KeyInfo, TenantInfo, TenantLimits } from "../operations/views.ts";
import { sameAs, withName } from "./json-schema.ts";
import type { Operation } from "./operation.ts";
import { page, uncached } from "./operation-parts.ts";
import { count, flag, text, textOrNull, tier, time, timeOrNull } from "./words.ts";

const identity = withName(
  "Identity",
  sameAs<Caller>()(
    z.object({
      tenant_id: text.describe("Tenant of the caller, or the one that an admin names by `tenant`."),
      principal: text.describe("Id of the API key, or subject of the token."),
      role: z.enum(roles).describe("Role of the caller."),
      inputs: z.literal(true).optional().describe("A viewer that may read inputs and logs. Absent for all others."),
    }),
  ),
);

const keyFields = {
  key_id: text.describe("Id of the key: the principal of its requests."),
  tenant_id: text.describe("Tenant of the key."),
  role: z.enum(roles).describe("Role of the key."),
  inputs: flag.describe("True: a viewer that may read inputs and logs."),
  label: textOrNull.describe("Text for the list. Null: none was given."),
  created_at: timeOrNull.describe("Null: the key was written by hand."),
  last_used_at: timeOrNull.describe("Up to ten minutes before the last use. Null: not used yet."),
  expires_at: timeOrNull.describe("Null: it does not expire."),
  revoked_at: timeOrNull.describe("Null: it is not revoked."),
};

const key = withName("Key", sameAs<KeyInfo>()(z.object(keyFields)));

withName(
  "NewKey",
  sameAs<KeyInfo & { key: string }>()(
    z.object({ ...keyFields, key: text.describe("The key. It is not shown again.") }),
  ),
);

const keyList = withName(
  "KeyList",
  z.object({ keys: z.array(key).describe("Oldest first, also revoked and expired.") }),
);

const tenantList = withName(
  "TenantList",
  z.object({
    tenants: z
      .array(
        sameAs<TenantInfo>()(
          z.object({
            tenant_id: text.describe("Id of the tenant."),
            paused_since: timeOrNull.describe("Time of the pause. Null: it is not paused."),
            open: count.describe("Tasks that have not ended."),
            retrying: count.describe("Of these, the tasks that wait for another attempt after a failed one."),
            dead_letters: count.describe("Dead letters."),
            complete: flag.describe(
              "False: the tenant has more than the 1,000 newest tasks or dead letters that are counted.",
            ),
          }),
        ),
      )
      .describe("The tenants of this page, in the order of their ids."),
    next_cursor: textOrNull.describe("`cursor` of the next page. Null: this is the last one."),
  }),
);

const limit = z.number().nullable();

withName(
  "TenantLimits",
  sameAs<TenantLimits & { in_force: Record<keyof Limits, number | null> }>()(
    z.object({
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
    }),
  ),
);

const ofTenant = "Of the caller's tenant, or of the one that `tenant` names.";

const metrics = withName(
  "Metrics",
  z.object({
    from: time.describe("Start of the first period."),
    to: time.describe("End of the last period."),
    period_seconds: z.int().describe("Length of each period. There are at most 72."),
    series: z
      .array(
        z.object({
          name: z
            .enum([...new Set(historyMetrics.map(({ name }) => name))])
            .describe(
              "`queue_wait_ms`: from an attempt's due time to its start. `processing_ms`: from its start to its end.",
            ),
          statistic: z.enum(["sum", "p50", "p95"]).describe("Sum of the period, or a percentile."),
          tier: tier.describe("Tier of the measurements."),
          points: z
            .array(z.array(z.number()).length(2))
            .describe("Start of a period in epoch seconds, and the value. A period without measurements is left out."),
        }),
      )
      .describe("The metrics of each tier."),
  }),
);

const alarms = withName(
  "AlarmList",
  z.object({
    alarms: z
      .array(
        z.object({
          name: text.describe("Its last part is a section of the runbook."),
          state: z.enum(alarmStates).describe("State of the alarm."),
          description: textOrNull.describe("Reason for the alarm, and the place to look."),
          since: timeOrNull.describe("Time since which it has this state."),
        }),
      )
      .describe("The alarms, in the order of their names."),
  }),
);

const deployments = withName(
  "DeploymentList",
  z.object({
    deployments: z
      .array(
        sameAs<Deployment>()(
          z.object({
            started_at: time.describe(
              "Time at which it started: from then on the new code may have run. Of the first deployment its end.",
            ),
            deployed_at: time.describe("Time at which it ended."),
            version: text.describe("Offload's version."),
            rolled_back: flag.describe("True: it failed, and what was there before is there again."),
          }),
        ),
      )
      .max(mostDeployments)
      .describe("Newest first."),
  }),
);

/** The routes of callers, keys, tenants and measurements. */
export const adminOperations = {
  readIdentity: {
    tag: "service",
    summary: "Read who the caller is",
    answers: { 200: uncached("The caller.", identity) },
  },
  readMetrics: {
    tag: "service",
    summary: "Read what the deployment measured",
    description:
      "The metrics of all tenants together, by tier: tasks submitted, completed, failed and retried, waits in the queue, times of attempts. Each request " +
      "reads 28 metrics of CloudWatch, which costs $0.00028. The local server keeps its metrics in memory, from its start.",
    role: "admin",
    query: metricsSchema,
    answers: { 200: uncached("The measurements.", metrics) },
  },
  listDeployments: {
    tag: "service",
    summary: "List the newest deployments",
    description:
      "The newest 50 of the last 90 days. They are the same for all tenants. A start or reload of the local server counts as one.",
    role: "viewer",
    answers: { 200: uncached("The deployments.", deployments) },
  },
  listAlarms: {
    tag: "service",
    summary: "List the deployment's alarms",
    description: "The local server has none.",
    role: "admin",
    answers: { 200: uncached("The alarms.", alarms) },
  },
  listKeys: {
    tag: "tenants",
    summary: "List the API keys of a tenant",
    description: `${ofTenant} The list never has their secrets.`,
    role: "admin",
    answers: { 200: uncached("The keys.", keyList) },
  },
  listTenants: {
    tag: "tenants",
    summary: "List the tenants",
    description: `Lists the tenants that have a key or have submitted a task. ${page}`,
    role: "admin",
    query: tenantListSchema,
    answers: { 200: uncached("One page of tenants.", tenantList) },
    problems: ["malformed_request"],
  },
} as const satisfies Partial<Record<AnyRouteName, Operation>>;
