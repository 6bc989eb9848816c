import type { App } from "aws-cdk-lib";
import { currentTask, defineTask, file, PermanentError } from "offload";
import { TaskPipeline } from "offload/cdk";
import { createClient, ProblemError, type TaskView } from "offload/client";
import { createDirectClient } from "offload/direct";
import { defineSchedule } from "offload/schedules";
import { testKit } from "offload/testing";
import { defineTrigger } from "offload/triggers";
import { z } from "zod";

export const lines = defineTask({
  name: "text.lines",
  input: z.object({ text: z.string() }),
  handler: ({ text }) => ({ size: text.split("\n").length }),
});

export const size = defineTask({
  name: "text.size",
  input: z.object({ text: z.string() }),
  handler: async ({ text }, task) => {
    if (text === "") throw new PermanentError("there is no text");
    task.log.info("measured");
    if (text.length > 1_000) {
      const half: { size: number } = await task.run(lines, { text: text.slice(500) }, { key: "half" });
      // @ts-expect-error: no such field
      await task.run(lines, { tex: text });
      task.log.info("half", half);
    }
    return { size: text.length, attempt: currentTask()?.attempt };
  },
});

/** Calls of a handler whose types follow from their arguments. */
export const calls = defineTask({
  name: "text.calls",
  input: z.object({ text: z.string() }),
  onFailed: async ({ text }, { error, errorKind, attempts, failedAt }, task) => {
    const failed: string = `${text.length} ${error} ${errorKind} ${attempts} ${failedAt}`;
    task.log.info(failed);
    // @ts-expect-error: no such field
    task.log.info(text.lenght);
  },
  handler: async ({ text }, task) => {
    const options = { maxAttempts: 3, retry: { baseSeconds: 1 }, timeoutSeconds: 30 };
    const length: number = await task.step("length", options, (key, { attempt }) => text.length + key.length + attempt);
    const next: unknown = await task.nextSignal("line", { timeoutSeconds: 60 });
    // @ts-expect-error: a wait needs its end
    await task.nextSignal("line");
    const any = await task.waitForAny({ yes: {}, no: {} }, { until: new Date(0) });
    const name: "yes" | "no" | undefined = any?.name;
    await task.sleepUntil(task.now());
    await task.progress(length, { message: "half", data: { next: String(next), name: name ?? null } });
    const scheduled: unknown = await task.putSchedule("nightly", { cron: "0 3 * * *", type: lines, input: { text } });
    await task.deleteSchedule(String(scheduled));
    const sum = await Promise.all([task.run(lines, { text }), task.run(lines, { text }, { key: "b" })]);
    return sum.reduce((total, { size: one }) => total + one, 0);
  },
});

const parent = { input: z.object({ share: z.number() }), handler: async () => {} };
const output = z.object({ total: z.int(), kind: z.enum(["full", "part"]) });
export const sizes = defineTask({
  ...parent,
  name: "text.sizes",
  output,
  children: { threshold: ({ share }) => share, stopOnFailure: true },
  aggregate: async ({ total, input }) => ({ total: total + input.share, kind: "full" }),
});
export const page = defineTask({
  ...parent,
  name: "text.page",
  children: {},
  aggregate: () => file(new Uint8Array(), { contentType: "text/csv" }),
});
export const wrong = [
  // @ts-expect-error: no such field
  defineTask({ ...parent, name: "text.none", output, children: {}, aggregate: () => ({ size: 1 }) }),
  // @ts-expect-error: a number
  defineTask({ ...parent, name: "text.none", output, handler: () => ({ total: "1", kind: "full" }) }),
  // @ts-expect-error: no such option
  defineTask({ ...parent, name: "text.none", child: {} }),
  // @ts-expect-error: true or false
  defineTask({ ...parent, name: "text.none", children: { stopOnFailure: 1 } }),
  // @ts-expect-error: no such option
  defineTask({ ...parent, name: "text.none", children: { treshold: 1 } }),
  // @ts-expect-error: a number
  defineTask({ ...parent, name: "text.none", children: { threshold: ({ share }) => `${share}` } }),
  // @ts-expect-error: a limit by input needs a key
  defineTask({ ...parent, name: "text.none", concurrency: { limit: ({ share }) => share } }),
  // @ts-expect-error: strict order has one place
  defineTask({ ...parent, name: "text.none", concurrency: { key: ({ share }) => share, limit: 2, order: "strict" } }),
];

export const limited = defineTask({
  ...parent,
  name: "text.limited",
  concurrency: { key: ({ share }) => share, limit: ({ share }) => share, scope: "deployment" },
  rateLimit: [
    { key: ({ share }) => share, limit: 3, perSeconds: 1 },
    { key: ({ share }) => share, limit: 2_000, perSeconds: 86_400 },
  ],
  breaker: { key: ({ share }) => share, failures: 5, coolDownSeconds: 60 },
});
export const strict = defineTask({
  ...parent,
  name: "text.strict",
  concurrency: { key: ({ share }) => share, limit: 1, order: "strict", onDeadLetter: "hold" },
});
export const gathered = defineTask({
  name: "text.gathered",
  input: z.object({ text: z.string() }),
  collect: { maxItems: 10, waitSeconds: 5 },
  concurrency: { key: ({ text }) => text, limit: ({ text }) => text.length },
  breaker: { key: ({ text }) => text, failures: 5, coolDownSeconds: 60 },
  handler: async (inputs, task) => {
    await task.submit(lines, { text: "" }, { unique: { key: "a", mode: "debounce", waitSeconds: 5 } });
    await task.submit(lines, { text: "" }, { unique: { key: "a", mode: "restart" } });
    // @ts-expect-error: no such mode
    await task.submit(lines, { text: "" }, { unique: { key: "a", mode: "newest" } });
    return inputs.map(({ text }) => text);
  },
});

export const byList = defineTask({
  name: "text.byList",
  input: z.object({ text: z.string() }),
  collect: { maxItems: 10, waitSeconds: 5 },
  // @ts-expect-error: a key is made of one input, not of the list
  breaker: { key: (inputs: { text: string }[]) => inputs.length, failures: 5, coolDownSeconds: 60 },
  handler: async () => {},
});

const tasks = { size, sizes, page, gathered };

export async function use(): Promise<number> {
  const client = createClient<typeof tasks>({ url: "http://127.0.0.1:3000", key: "dev-acme" });
  const task = await client.submit("text.size", { text: "a" });
  // @ts-expect-error: no such field
  await client.submit("text.size", { tex: "a" });
  // @ts-expect-error: no such type
  await client.submit("text.sise", { text: "a" });
  const status: TaskView = await client.status(task);
  const direct = createDirectClient<typeof tasks>({ tenant: "acme", principal: "shop" });
  await direct.submit("text.size", { text: "a" });
  const outcome = await testKit([size]).run(size, { text: status.type });
  const result = await client.result(task);
  const { total }: { total: number } = await client.result(await client.submit("text.sizes", { share: 1 }));
  const csv: File = await client.result(await client.submit("text.page", { share: total }));
  await csv.text();
  const texts: string[] = await client.result(
    await client.submit("text.gathered", { text: "a" }, { unique: { key: "all", mode: "collect" } }),
  );
  const named = client.task({ type: "text.size", key: texts.join() });
  await client.reschedule(named, { delaySeconds: 60 });
  const error: unknown = outcome.errorKind;
  return error instanceof ProblemError ? error.status : result.size;
}

export const unused = [defineSchedule, defineTrigger];

export const pipelineIn = (app: App): TaskPipeline => new TaskPipeline(app, "Offload", { tasks: "tasks" });
