import type { TenantCounts } from "../../core/control/list.ts";
import type { MetricSeries } from "../../core/control/metric-history.ts";
import type { LogLine } from "../../core/control/task-log.ts";
import type {
  KeyLimitView,
  LimitsView,
  LimitWait,
  PausedView,
  StoppedTenant,
  TypeFlowView,
} from "../../core/extras/limits/view-flow.ts";
import type { DeliveryState, Identity, ReceiverEvent, ReceiverHealth, Role, Tier } from "../../core/model/words.ts";
import type { RunsOn } from "../../core/task/type-options.ts";

/*
 * The nouns of operators as the API shows them: acts and handlers answer them, `src/api/openapi` describes them, the
 * client and the console read them. Types only: the client's declarations need no package.
 */

/** The caller. */
export interface Caller extends Pick<Identity, "principal" | "role"> {
  tenant_id: string;
  /** A viewer that may read inputs and logs. Absent for all others. */
  inputs?: true | undefined;
}

/** An API key without its secret. Times are null until they apply. */
export interface KeyInfo {
  key_id: string;
  tenant_id: string;
  role: Role;
  /** True: a viewer's key that may read inputs and logs. */
  inputs: boolean;
  label: string | null;
  created_at: string | null;
  last_used_at: string | null;
  expires_at: string | null;
  revoked_at: string | null;
}

/** A tenant that has a key or has submitted a task, with the numbers of its newest tasks. */
export interface TenantInfo extends TenantCounts {
  tenant_id: string;
  /** Null: it is not paused. */
  paused_since: string | null;
}

/** Limits by name. Null: no limit. */
export type LimitsByName = Readonly<Record<string, number | null>>;

/** The limits of a tenant: those that were set for it, and all that apply. */
export interface TenantLimits {
  tenant_id: string;
  limits: LimitsByName;
  in_force: LimitsByName;
}

/** Measurements of all tenants together. */
export interface Metrics {
  from: string;
  to: string;
  period_seconds: number;
  series: MetricSeries[];
}

/** A change by an operator or admin, or by a command that works on the table. */
export interface AuditEntry {
  audit_id: string;
  at: string;
  /** Principal of the caller. `cli:<user>`: a command that worked on the table itself. */
  actor: string;
  /** Null: the actor has access to the table. */
  role: Role | null;
  /** `operationId` of the request, as in `/openapi.json`; for a command its words, such as `keys create`. */
  action: string;
  /** Parts of the request's path, such as `task_id`. */
  target: Record<string, string>;
  /** HTTP status of the answer. Null: none yet, or the process died, and the change may have been made. */
  status: number | null;
  /** Body of the request. Null: it has none, or a body that may have an input of a task. */
  request: unknown;
  correlation_id: string;
}

/** One try of a webhook. */
export interface WebhookTry {
  /** The same for each try of one end of a task: the header `webhook-id`. */
  webhook_id: string;
  number: number;
  at: string;
  /** HTTP status. Null: there was no answer. */
  status: number | null;
  /** The reason why there was no answer. */
  error: string | null;
  duration_ms: number;
}

/** The tries of a task's webhooks, oldest first. */
export interface WebhookTries {
  /** State of the newest webhook. Null: none was tried. */
  state: DeliveryState | null;
  next_try_at: string | null;
  deliveries: WebhookTry[];
}

/** A webhook that was given up. */
export interface FailedWebhook {
  /** Only in a list of all tenants. */
  tenant_id?: string | undefined;
  task_id: string;
  webhook_id: string;
  type: string;
  url: string;
  status: "failed";
  tries: number;
  last_try_at: string | null;
  last_status: number | null;
  last_error: string | null;
}

/** A program that gets a webhook for each end of a task that it asks for. */
export interface ReceiverView {
  /** Only in a list of all tenants. */
  tenant_id?: string | undefined;
  webhook_id: string;
  url: string;
  events: ReceiverEvent[];
  /** Null: tasks of all types. */
  types: string[] | null;
  description: string | null;
  /** False: it gets no webhook. */
  enabled: boolean;
  /** `disabled`: by Offload, after five days of failures. */
  health: ReceiverHealth;
  /** Time of the first failed try since the last try that succeeded. */
  failing_since: string | null;
  disabled_at: string | null;
  created_by: string;
  created_at: string;
  updated_at: string;
}

/** The secret that signs a receiver's webhooks. */
export interface ReceiverSecret {
  webhook_id: string;
  secret: string;
  /** Number of earlier secrets that sign, too, for 24 hours after a rotation. */
  also_signing: number;
}

/** One try of a delivery to a receiver. */
export interface ReceiverTry extends Omit<WebhookTry, "webhook_id"> {
  /** The start of the answer's body, at most 1,024 bytes of it. Null: it was empty, or there was no answer. */
  answer: string | null;
}

/** A webhook of a receiver, with its tries. */
export interface ReceiverDelivery {
  /** The header `webhook-id`: the same for each try. */
  delivery_id: string;
  /** Null: it tests the receiver. */
  task_id: string | null;
  /** Type of the task. */
  type: string;
  /** `type` of the webhook's body. */
  event: string;
  url: string;
  status: DeliveryState;
  created_at: string;
  next_try_at: string | null;
  /** The request's body, at most 64 KiB of it. */
  body: string;
  /** Oldest first. */
  tries: ReceiverTry[];
}

/** The secret that signs a tenant's webhooks. */
export interface WebhookSecret {
  tenant_id: string;
  secret: string;
  /** Number of earlier secrets that sign, too, for 24 hours after a rotation. */
  also_signing: number;
}

/** A task type as clients see it. */
export interface TypeView extends TypeFlowView {
  name: string;
  description: string;
  version: number;
  priority: Tier;
  runs_on: RunsOn;
  timeout_seconds: number;
  max_attempts: number;
  cancellable: boolean;
  /** Inputs of submits gather in one task. Absent: each submit is a task. */
  collect?: { max_items: number; wait_seconds: number } | undefined;
  /** JSON Schema (draft 2020-12) of the input. */
  input_schema: Record<string, unknown>;
  /** JSON Schema of the result. Null: the type declares none. */
  output_schema: Record<string, unknown> | null;
  /** Time from which the first task waits behind a pause of the type, or its breaker. */
  waiting_since: string | null;
  /** The tasks that wait for a place or a start of the type's limits. Null: none does. */
  waits_for_limit: LimitWait | null;
  /** Only in a list for all tenants: those for which alone it is paused, or its breaker open. */
  stopped_tenants?: StoppedTenant[] | undefined;
}

/** The task types with their limits, pauses and breakers, as the caller's tenant sees them. */
export interface TypeList {
  types: TypeView[];
  /** Null: the tenant is not paused. */
  tenant_paused_since: string | null;
}

/** The pauses of a task type. Null: it is not paused for the caller's tenant. */
export interface TypePause {
  type: string;
  paused: PausedView | null;
}

/** The limits of a task type that are in force. */
export interface TypeLimits extends LimitsView {
  type: string;
}

/** The limit of one key of a type. */
export interface KeyLimit extends KeyLimitView {
  type: string;
}

/** The breaker of a type. Null: the type has none. */
export interface TypeBreaker {
  type: string;
  breaker: TypeView["breaker"];
}

/** A pause of a tenant. `since` is null when it is not paused. */
export interface TenantPause {
  tenant_id: string;
  paused: boolean;
  since: string | null;
}

/** A pause of a tier. `since` is null when it is not paused. */
export interface TierPause {
  tier: Tier;
  paused: boolean;
  since: string | null;
}

/** The number of tasks or dead letters that an operation would act on. */
export interface DryRun {
  matched: number;
  /** Of each tenant. Absent: the operation is for one tenant. */
  by_tenant?: Readonly<Record<string, number>> | undefined;
  /** Number of those whose ends send webhooks to a `callback` of their own. Absent: none. */
  with_callback?: number | undefined;
}

/** An accepted replay or discard. */
export interface StartedOperation {
  operation_id: string;
  /** Number of selected dead letters. */
  matched: number;
}

/** One tier as clients see it. */
export interface QueueView {
  visible: number;
  in_flight: number;
  delayed: number;
  /** Null: not known yet. */
  oldest_age_seconds: number | null;
  dead_letters: number;
  /** Tasks that wait for another attempt after a failed one. Of more than some thousands, at least so many. */
  retrying: number;
  paused: boolean;
  paused_since: string | null;
  /** Time since which submits get `queue_full`. Null: none got it in the last two minutes. */
  refusing_since: string | null;
}

/** The answer of `GET /tasks/{id}/logs`. */
export interface TaskLogView {
  lines: LogLine[];
  next_cursor: string | null;
  /** True: the task has ended, and no line follows. */
  complete: boolean;
}
