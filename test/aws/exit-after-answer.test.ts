import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { bundle } from "../../lib/esbuild.ts";
import { LambdaFunction } from "../support/lambda-function.ts";

const project = mkdtempSync(join(tmpdir(), "offload-exit-after-answer-"));
symlinkSync(join(process.cwd(), "node_modules"), join(project, "node_modules"));
afterAll(() => rmSync(project, { recursive: true, force: true }));

const perTier = JSON.stringify(
  Object.fromEntries(["critical", "high", "normal", "low"].map((tier) => [tier, `http://127.0.0.1:9/q/${tier}`])),
);
const arn = (service: string, name: string) => `arn:aws:${service}:eu-west-1:123456789012:${name}`;
const env = {
  ...{ AWS_REGION: "eu-west-1", AWS_ACCESS_KEY_ID: "local", AWS_SECRET_ACCESS_KEY: "local" },
  ...{ OFFLOAD_TABLE: "t", OFFLOAD_BUCKET: "b", OFFLOAD_TIER: "normal", OFFLOAD_NOTIFY_URL: "http://127.0.0.1:9/q/n" },
  ...{ OFFLOAD_SCHEDULE_GROUP: "g", OFFLOAD_FIRE_ARN: arn("lambda", "function:fire") },
  ...{ OFFLOAD_SCHEDULER_ROLE_ARN: arn("iam", "role/fire"), OFFLOAD_SCHEDULER_DLQ_ARN: arn("sqs", "firings") },
  ...{ OFFLOAD_QUEUE_URLS: perTier, OFFLOAD_DLQ_URLS: perTier },
};

/** Builds a worker function with one task file that has more code at its top. */
function builtWorker(name: string, code: string): string {
  const tasks = join(project, name, "tasks");
  mkdirSync(tasks, { recursive: true });
  const file = `import { defineTask } from "offload";
import * as z from "zod";
${code}
export default defineTask({ name: "page.read", input: z.object({}), handler: () => 1 });
`;
  writeFileSync(join(tasks, "page.read.ts"), file);
  const built = join(project, name, "built");
  bundle("worker", built, { tasks });
  return join(built, "index.mjs");
}

const noMessages = { Records: [] };
const answer = { batchItemFailures: [] };

test("a worker function in which code threw where nobody catches it hands over its next answer, and ends", async (context) => {
  const entry = builtWorker("threw", 'setTimeout(() => { throw new Error(["loose", "end"].join(" ")); }, 700);');
  const worker = await LambdaFunction.start(entry, env);
  context.onTestFinished(() => void worker.process.kill());
  expect(await worker.invoke(noMessages)).toEqual(answer);
  await worker.logged("loose end");
  expect(worker.process.exitCode).toBeNull();
  expect(await worker.invoke(noMessages)).toEqual(answer);
  expect(await worker.ended()).toBe(1);
});

test("a rejection that nobody awaits is logged, and the function goes on", async (context) => {
  const entry = builtWorker(
    "rejected",
    'setTimeout(() => void Promise.reject(new Error(["loose", "end"].join(" "))), 700);',
  );
  const worker = await LambdaFunction.start(entry, env);
  context.onTestFinished(() => void worker.process.kill());
  await worker.logged("loose end");
  for (let invocation = 0; invocation < 3; invocation++) expect(await worker.invoke(noMessages)).toEqual(answer);
  expect(worker.process.exitCode).toBeNull();
  expect(worker.output).toContain("belongs to no task");
});
