import type { Row } from "./row.ts";

/* Written by `npm run docs:http` from the acts of this folder. Do not edit. */

type Rows = Readonly<Record<string, Row>>;

export const cancels = {
  cancelTask: "POST /tasks/{task_id}/cancel body",
} as const satisfies Rows;

export const tasks = {
  runTaskNow: "POST /tasks/{task_id}/run-now",
  retryTask: "POST /tasks/{task_id}/retry",
  extendTask: "POST /tasks/{task_id}/extend body",
} as const satisfies Rows;

export const acknowledgements = {
  acknowledgeTask: "POST /tasks/{task_id}/acknowledge silent",
} as const satisfies Rows;

export const priorities = {
  changeTaskPriority: "POST /tasks/{task_id}/priority body",
  rescheduleTask: "POST /tasks/{task_id}/reschedule body",
} as const satisfies Rows;

export const rareTasks = {
  redeliverTask: "POST /tasks/{task_id}/deliveries/redeliver",
  listSteps: "GET /tasks/{task_id}/steps",
  changeTaskInput: "POST /tasks/{task_id}/input",
  readInput: "GET /tasks/{task_id}/input",
} as const satisfies Rows;

export const webhooks = {
  readWebhookSecret: "GET /webhooks/secret read",
  rotateWebhookSecret: "POST /webhooks/secret/rotate",
  createReceiver: "POST /webhooks body",
  changeReceiver: "PATCH /webhooks/{webhook_id} body",
  deleteReceiver: "DELETE /webhooks/{webhook_id}",
  testReceiver: "POST /webhooks/{webhook_id}/test",
  rotateReceiverSecret: "POST /webhooks/{webhook_id}/secret/rotate",
} as const satisfies Rows;

export const running = {
  cancelOperation: "POST /operations/{operation_id}/cancel",
  changeOperation: "PATCH /operations/{operation_id} body",
} as const satisfies Rows;

export const queues = {
  readQueues: "GET /queues",
  pauseQueue: "POST /queues/{tier}/pause all",
  resumeQueue: "POST /queues/{tier}/resume all",
  recoverLetters: "POST /queues/{tier}/recover all",
} as const satisfies Rows;

export const types = {
  listTypes: "GET /types",
  pauseType: "POST /types/{type}/pause body",
  resumeType: "POST /types/{type}/resume body",
  closeBreaker: "POST /types/{type}/breaker/close body",
  changeLimits: "PATCH /types/{type}/limits body all",
  setKeyLimit: "POST /types/{type}/limits/{key} body",
  clearKeyLimit: "DELETE /types/{type}/limits/{key}",
} as const satisfies Rows;

export const tenants = {
  pauseTenant: "POST /tenants/{tenant_id}/pause",
  resumeTenant: "POST /tenants/{tenant_id}/resume",
  readTenantLimits: "GET /tenants/{tenant_id}/limits",
  changeTenantLimits: "PATCH /tenants/{tenant_id}/limits body",
} as const satisfies Rows;

export const keys = {
  createKey: "POST /keys body",
  revokeKey: "DELETE /keys/{key_id}",
} as const satisfies Rows;

export const schedules = {
  changeSchedule: "PATCH /schedules/{schedule_id}",
  putSchedule: "PUT /schedules/{schedule_id}",
  deleteSchedule: "DELETE /schedules/{schedule_id}",
  pauseSchedule: "POST /schedules/{schedule_id}/pause",
  resumeSchedule: "POST /schedules/{schedule_id}/resume",
} as const satisfies Rows;
