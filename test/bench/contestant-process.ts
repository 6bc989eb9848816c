import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { marshall } from "@aws-sdk/util-dynamodb";
import type { Context } from "aws-lambda";
import { answerCatalogWith, answerItemsWith, counts, stubTransport, written } from "./stub-transport.ts";
import { durableExecution, freshBatch, statusRequest, stepBatch, storedRecord, submitRequest } from "./workload.ts";

/** What the benchmark asks of a contestant's process. */
export type Ask = { kind: "run"; calls: number } | { kind: "run-events"; events: unknown[] } | { kind: "counts" };

/** What it gets back: how long the calls took, or what they asked of AWS. */
export interface Took {
  cpuMs: number;
  wallMs: number;
}
export interface Counted {
  requests: Record<string, number>;
  writeUnits: number;
  largestItemBytes: number;
}

type Handler = (event: unknown, context: Context) => Promise<unknown>;

const [file = "", kind = "", transport = "stub"] = process.argv.slice(2);
const events: Record<string, () => unknown> = {
  worker: freshBatch,
  submit: submitRequest,
  status: () => statusRequest(),
  steps: () => stepBatch(1),
  "ten-steps": () => stepBatch(10),
  durable: durableExecution,
  memory: () => ({ sleeps: false }),
  "memory-sleeps": () => ({ sleeps: true }),
};
const makeEvent = events[kind];
if (makeEvent === undefined) throw new Error(`no benchmark is named ${kind}`);

const context = {
  ...{
    functionName: `offload-${kind}`,
    functionVersion: "$LATEST",
    memoryLimitInMB: "512",
    awsRequestId: randomUUID(),
  },
  invokedFunctionArn: `arn:aws:lambda:us-east-1:000000000000:function:offload-${kind}`,
  getRemainingTimeInMillis: () => 900_000,
} as unknown as Context;

if (transport === "stub") {
  stubTransport();
  answerItemsWith(marshall(storedRecord()));
  answerCatalogWith(marshall({ gzip: gzipSync(readFileSync(process.env.OFFLOAD_CATALOG_FILE ?? "")) }));
}
const { handler } = (await import(file)) as { handler: Handler };

process.on("message", async (ask: Ask) => {
  if (ask.kind === "counts") {
    const { units: writeUnits, largestItemBytes } = written;
    process.send?.({ requests: Object.fromEntries(counts), writeUnits, largestItemBytes } satisfies Counted);
    return;
  }
  process.send?.(await run(ask.kind === "run" ? Array.from({ length: ask.calls + 1 }, makeEvent) : ask.events));
});
process.on("disconnect", () => process.exit(0));
process.send?.("ready");

/** Calls the function with one event after the other. The first call is checked, and does not count. */
async function run(events: unknown[]): Promise<Took> {
  const [first, ...others] = events;
  check(await handler(first, context));
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  for (const event of others) await handler(event, context);
  const wallMs = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpu);
  return { cpuMs: (user + system) / 1000 / others.length, wallMs: wallMs / others.length };
}

/** A contestant that refuses its work would be fast. */
function check(answer: unknown): void {
  if (!isGood(answer)) throw new Error(`${file} did not do its work: ${JSON.stringify(answer)}`);
}

function isGood(answer: unknown): boolean {
  if (answer === "completed" || answer === "succeeded") return kind.startsWith("memory");
  const { statusCode, batchItemFailures, Status } = answer as {
    statusCode?: number;
    batchItemFailures?: unknown[];
    Status?: string;
  };
  if (kind === "durable") return Status === "SUCCEEDED";
  if (kind === "submit" || kind === "status") return statusCode === (kind === "submit" ? 202 : 200);
  return batchItemFailures?.length === 0;
}
