import type { Row } from "./row.ts";

/* Written by `npm run docs:http` from the acts of this folder. Do not edit. */

type Rows = Readonly<Record<string, Row>>;

export const tasks = {
  cancelTask: "POST /tasks/{task_id}/cancel body",
  retryTask: "POST /tasks/{task_id}/retry",
  runTaskNow: "POST /tasks/{task_id}/run-now",
  extendTask: "POST /tasks/{task_id}/extend body",
  acknowledgeTask: "POST /tasks/{task_id}/acknowledge silent",
} as const satisfies Rows;

export const rareTasks = {
  changeTaskPriority: "POST /tasks/{task_id}/priority body",
  redeliverTask: "POST /tasks/{task_id}/deliveries/redeliver",
  listSteps: "GET /tasks/{task_id}/steps",
  changeTaskInput: "POST /tasks/{task_id}/input",
  readInput: "GET /tasks/{task_id}/input",
} as const satisfies Rows;

export const running = {
  cancelOperation: "POST /operations/{operation_id}/cancel",
  changeOperation: "PATCH /operations/{operation_id} body",
} as const satisfies Rows;
