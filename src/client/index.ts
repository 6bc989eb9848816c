/**
 * The package's entry `offload/client`: the typed HTTP client.
 * @module offload/client
 */
import { Client } from "./client.ts";
import type { AnyTasks } from "./definitions.ts";
import type { ClientOptions } from "./transport.ts";

/**
 * Creates a client of an Offload API. `Tasks` is a module or record of task types; the compiler then checks names and
 * inputs, and knows results. Without it, every name and input is allowed.
 * @throws TypeError when an option is missing or not valid
 * @example
 * import type * as tasks from "../tasks/index.ts";
 * const client = createClient<typeof tasks>({ url: "https://tasks.example.com", key });
 * const task = await client.submit("invoice.generate", order);
 * const invoice = await client.result(task);
 */
export const createClient = <Tasks = AnyTasks>(options: ClientOptions): Client<Tasks> => new Client(options);

export type {
  AuditEntry,
  Caller,
  DryRun,
  FailedWebhook,
  KeyInfo,
  KeyLimit,
  LimitsByName,
  Metrics,
  ReceiverDelivery,
  ReceiverSecret,
  ReceiverTry,
  ReceiverView,
  StartedOperation,
  TenantInfo,
  TenantLimits,
  TenantPause,
  TierPause,
  TypeBreaker,
  TypeLimits,
  TypeList,
  TypePause,
  WebhookSecret,
  WebhookTries,
  WebhookTry,
} from "../api/acts/views.ts";
export type { DeadLetterView } from "../core/control/find-dead-letters.ts";
export type { LetterGroups, LetterGroupView } from "../core/control/group-dead-letters.ts";
export type { OperationView } from "../core/control/operation.ts";
export type { StepView } from "../core/control/stored-parts.ts";
export type { LogLine } from "../core/control/task-log.ts";
export type { InputError, ProblemCode } from "../core/model/problem.ts";
export type { TaskView } from "../core/model/task-view.ts";
export type { TaskMessage } from "../core/notify/push-notice.ts";
export { Admin, type NewLimit, type NewTenantLimits } from "./admin.ts";
export { Audit, type AuditFilter } from "./audit-calls.ts";
export type { AttemptView, Client, ResultOptions, TaskFilter, WaitOptions } from "./client.ts";
export type { DeadLetterFilter, Selection } from "./dead-letters.ts";
export type { AnyTasks, TaskInput, TaskName, TaskResult } from "./definitions.ts";
export {
  CallTimeout,
  ConnectionError,
  OffloadError,
  ProblemError,
  TaskCancelled,
  TaskEnded,
  TaskExpired,
  TaskFailed,
  UnexpectedAnswer,
} from "./errors.ts";
export type { Download, NewFile, UploadSource } from "./files.ts";
export {
  type BreakerCloseOptions,
  Flow,
  type NewKeyLimit,
  type NewLimits,
  type TypePauseOptions,
} from "./flow.ts";
export type { CallOptions } from "./limits.ts";
export type { List, Page } from "./list.ts";
export { type BulkFilter, Operations, type TaskSelection } from "./operation-calls.ts";
export type { ChannelMessage, SubscribeOptions } from "./push.ts";
export { type DeliveryFilter, type NewReceiver, Receivers } from "./receiver-calls.ts";
export type { NewSchedule, ScheduleChange, ScheduledTask, ScheduleRule, ScheduleView } from "./schedule-calls.ts";
export type { Inputs, SubmitOutcome } from "./submit-many.ts";
export type { BatchOptions, SubmitManyOptions, SubmitOptions, TaskEntry, UniqueOptions } from "./submit-options.ts";
export type { SubmittedTask, TaskOfKey, TaskRef } from "./task-ref.ts";
export type { TransferOptions, TransferProgress } from "./transfer.ts";
export type { ClientOptions } from "./transport.ts";
export { Webhooks } from "./webhook-calls.ts";
