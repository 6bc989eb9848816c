import { CfnQueryDefinition, type ILogGroup } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import { newFailureLine } from "../../src/core/pipeline/end/dead-letter.ts";
import { lateErrorLine, ownStrayLine } from "../../src/core/pipeline/work/late-error.ts";
import type { Watched } from "./watched.ts";

/** Logs that a query reads: of all functions, of functions in which attempts end, or the API's access log. */
type Lines = "functions" | "attempts" | "access";

interface Query {
  readonly lines: Lines;
  /** Lines in the Logs Insights query language. The user replaces `PUT_..._HERE`. */
  readonly text: readonly string[];
}

const attemptFields =
  "@timestamp, task_id, type, tenant_id, tier, attempt, outcome, status, duration_ms, queue_wait_ms, error_kind, error_type, error, trace_id";

/** Saved queries of Logs Insights, by their names in the deployment's folder. */
export const queries = {
  "find a task": {
    lines: "functions",
    text: [
      `fields ${attemptFields}, message, @log`,
      'filter task_id = "PUT_TASK_ID_HERE"',
      "sort @timestamp asc",
      "limit 500",
    ],
  },
  "failures by type": {
    lines: "attempts",
    text: [
      'filter status = "failed" and outcome in ["failed", "crashed", "timed_out"]',
      "stats count(*) as failures, latest(error) as last_error, latest(tenant_id) as last_tenant, latest(task_id) as last_task by type, error_type, error_kind",
      "sort failures desc",
      "limit 25",
    ],
  },
  "retries by cause": {
    lines: "attempts",
    text: [
      'filter status = "pending" and outcome in ["retried", "crashed", "timed_out"]',
      "stats count(*) as retries, latest(error) as last_error, latest(tenant_id) as last_tenant, latest(task_id) as last_task by type, error_kind, error_type",
      "sort retries desc",
      "limit 25",
    ],
  },
  "waits in lines": {
    lines: "attempts",
    text: [
      'filter outcome = "parked"',
      "stats count(*) as waits, latest(task_id) as last_task by type, tenant_id, waiting_for",
      "sort waits desc",
      "limit 25",
    ],
  },
  "held lines": {
    lines: "attempts",
    text: [
      'filter message = "tasks wait in a line"',
      "stats count(*) as looks, max(oldest_wait_ms) / 60000 as waited_minutes, latest(breaker) as breaker, latest(paused_since) as paused_since by line",
      "sort looks desc",
      "limit 50",
    ],
  },
  "slowest attempts": {
    lines: "attempts",
    text: [
      `fields ${attemptFields}`,
      "filter ispresent(attempt) and ispresent(duration_ms)",
      "sort duration_ms desc",
      "limit 50",
    ],
  },
  "durations by type": {
    lines: "attempts",
    text: [
      "filter ispresent(attempt) and ispresent(duration_ms)",
      "stats count(*) as attempts, pct(duration_ms, 50) as p50, pct(duration_ms, 99) as p99, max(duration_ms) as longest by type",
      "sort p99 desc",
      "limit 25",
    ],
  },
  "one trace": {
    lines: "functions",
    text: [
      `fields ${attemptFields}, message, @log`,
      'filter trace_id = "PUT_TRACE_ID_HERE"',
      "sort @timestamp asc",
      "limit 500",
    ],
  },
  crashes: {
    lines: "functions",
    text: [
      `fields ${attemptFields}, @message, @log`,
      'filter outcome in ["crashed", "timed_out"] or @message like /"status": ?"(error|timeout|failure)"|Status: (error|timeout)|Runtime exited|Task timed out|Runtime\\.|errorType/',
      "sort @timestamp desc",
      "limit 100",
    ],
  },
  "refused schedules": {
    lines: "functions",
    text: [
      "fields @timestamp, schedule_id, schedule, tenant_id, scheduled_for, trigger, event_id, error",
      'filter outcome = "refused" and (ispresent(scheduled_for) or ispresent(event_id))',
      "sort @timestamp desc",
      "limit 100",
    ],
  },
  "new failures": {
    lines: "functions",
    text: [
      `filter message = "${newFailureLine}"`,
      "fields @timestamp, type, error_type, error_kind, tenant_id, task_id",
      "sort @timestamp desc",
      "limit 50",
    ],
  },
  "stray errors": {
    lines: "attempts",
    text: [
      `filter message in ["${lateErrorLine}", "${ownStrayLine}"]`,
      "stats count(*) as errors, latest(error) as last_error, latest(tenant_id) as last_tenant, latest(task_id) as last_task by type, error_type",
      "sort errors desc",
      "limit 25",
    ],
  },
  "skipped times": {
    lines: "functions",
    text: [
      'filter outcome = "skipped" and ispresent(scheduled_for)',
      "stats count(*) as times, latest(scheduled_for) as last_time, latest(reason) as last_reason by schedule_id, schedule, tenant_id",
      "sort times desc",
      "limit 50",
    ],
  },
  "failed webhooks": {
    lines: "functions",
    text: [
      'filter ispresent(webhook_id) and outcome in ["failed", "pending"]',
      "stats count(*) as tries, latest(outcome) as last_outcome, latest(status) as last_status, latest(error) as last_error, max(duration_ms) as longest, latest(task_id) as last_task by host, tenant_id",
      "sort tries desc",
      "limit 50",
    ],
  },
  "busiest tenants": {
    lines: "attempts",
    text: [
      "filter ispresent(attempt) and ispresent(duration_ms)",
      "stats count(*) as attempts, sum(duration_ms) / 1000 as seconds by tenant_id, tier",
      "sort seconds desc",
      "limit 25",
    ],
  },
  "waiting families": {
    lines: "functions",
    text: [
      'filter message in ["family waits", "family closed", "task cancelled"]',
      "stats latest(message) as last, latest(@timestamp) as since, latest(children) as number, latest(type) as parent_type, latest(tenant_id) as tenant by task_id",
      'filter last = "family waits"',
      "sort since asc",
      "limit 50",
    ],
  },
  "failed requests": {
    lines: "access",
    text: [
      "filter status like /^5/",
      "stats count(*) as requests, max(@timestamp) as last by status, route, integration_error, error, tenant_id",
      "sort requests desc",
      "limit 50",
    ],
  },
} as const satisfies Record<string, Query>;

export type QueryName = keyof typeof queries;

/** Log groups that a query reads. Attempts also end in redrive, for tasks that no worker could start. */
export function logGroupsOf({ functions, workers, containers, accessLog }: Watched, lines: Lines): ILogGroup[] {
  if (lines === "access") return [accessLog];
  const { redrive } = functions;
  const ending = [...Object.values(workers), ...(redrive === undefined ? [] : [redrive])];
  const all = [...(lines === "attempts" ? ending : Object.values(functions)), ...(containers ? [containers] : [])];
  return all.map(({ logGroup }) => logGroup);
}

/** Saves the queries in Logs Insights. */
export class Queries extends Construct {
  constructor(scope: Construct, id: string, watched: Watched) {
    super(scope, id);
    for (const [name, { lines, text }] of Object.entries(queries)) {
      new CfnQueryDefinition(this, name, {
        name: `${watched.name}/${name}`,
        queryString: text.join("\n| "),
        logGroupNames: logGroupsOf(watched, lines).map(({ logGroupName }) => logGroupName),
      });
    }
  }
}
