import type { Context } from "aws-lambda";
import { freshBatch, statusRequest, submitRequest } from "./workload.ts";

// Loads a function in a fresh process and calls it once.

const [file = "", kind = ""] = process.argv.slice(2);
const event = kind === "worker" ? freshBatch() : kind === "submit" ? submitRequest() : statusRequest();
const context = {
  functionName: "bench",
  memoryLimitInMB: "512",
  invokedFunctionArn: "arn:aws:lambda:us-east-1:000000000000:function:bench",
  getRemainingTimeInMillis: () => 900_000,
} as unknown as Context;

const cpu = process.cpuUsage();
const startedAt = performance.now();
const { handler } = (await import(file)) as { handler: (event: unknown, context: Context) => Promise<unknown> };
const answer = (await handler(event, context)) as { statusCode?: number; batchItemFailures?: unknown[] };
const answeredAt = performance.now();
const { user, system } = process.cpuUsage(cpu);
if ((answer.statusCode ?? 200) >= 300 || (answer.batchItemFailures?.length ?? 0) > 0) {
  throw new Error(`${file} did not do its work: ${JSON.stringify(answer)}`);
}
const took = { wallMs: answeredAt - startedAt, sinceStartMs: answeredAt, cpuMs: (user + system) / 1000 };
process.send?.(took, () => process.exit(0));
