import { z } from "zod";
import { retry } from "../../src/core/control/control.ts";
import { changeLimits, pause, resume } from "../../src/core/extras/limits/manage-flow.ts";
import { signal } from "../../src/core/extras/steps/signal.ts";
import { PermanentError } from "../../src/core/model/errors.ts";
import type { TaskContext } from "../../src/core/task/context.ts";
import { defineTask, type TaskType } from "../../src/core/task/task.ts";
import { type Pipeline, pipelineWith } from "./memory-pipeline.ts";
import { allParts } from "./parts/all.ts";
import { typeOf } from "./task-types.ts";
import { workerPool } from "./worker-pool.ts";

const memoryPipeline = pipelineWith(...allParts);

/*
 * What the core gives its stores and queues to write, in one run with tasks of many kinds: for each write the paths of
 * its values, with their types. `test/golden` has what this commit writes.
 */

/** The paths of the values that one method was given, such as `0.history[].outcome: string`. */
export type Shapes = Record<string, string[]>;

/** The writes of each port. */
const writes = {
  records: ["create", "change", "savePart"],
  queues: ["send", "sendCheck", "deadLetter"],
  lines: ["add", "acquirePermits", "planCheck", "acquireTokens", "shard"],
  steps: ["add", "saveState"],
  flowSettings: ["put", "countFailure", "tryBreaker"],
  oneOffs: ["create"],
  families: ["end", "seal", "savePage"],
  notices: ["send"],
  uniqueKeys: ["take"],
  lists: ["add", "close"],
  once: ["begin", "finish"],
  blobList: ["add"],
} as const;

/** Members whose names are the author's, or ids. */
const free = /\.(input|result|result_schema|tags|state|body)$/;

/** Members with a closed set of values, which a reader has to know. */
const closed = /\.(kind|status|outcome|schema_version|error_kind|family_state)$/;

const typeOfValue = (value: unknown): string =>
  value === null ? "null" : value instanceof Uint8Array ? "bytes" : typeof value;

function* pathsOf(value: unknown, path = ""): Generator<string> {
  if (value === undefined) return;
  if (free.test(path)) yield `${path}: any`;
  else if (Array.isArray(value)) for (const one of value) yield* pathsOf(one, `${path}[]`);
  else if (typeOfValue(value) !== "object") yield `${path}: ${closed.test(path) ? String(value) : typeOfValue(value)}`;
  else {
    for (const [name, one] of Object.entries(value as object))
      yield* pathsOf(one, path === "" ? name : `${path}.${name}`);
  }
}

/** Notes what each writing method is given from now on. */
function watch(ports: Pipeline["ports"]): () => Shapes {
  const seen = new Map<string, Set<string>>();
  for (const [port, methods] of Object.entries(writes)) {
    const target = ports[port as keyof typeof writes] as unknown as Record<string, (...given: unknown[]) => unknown>;
    for (const method of methods) {
      const original = target[method]?.bind(target);
      if (original === undefined) throw new Error(`no method ${port}.${method}`);
      target[method] = (...given) => {
        const paths = seen.get(`${port}.${method}`) ?? new Set();
        seen.set(`${port}.${method}`, paths);
        // The first value of a change is the task as it was read.
        const written = [...given.entries()].slice(method === "change" ? 1 : 0);
        for (const path of pathsOf(Object.fromEntries(written))) paths.add(path);
        return original(...given);
      };
    }
  }
  return () => Object.fromEntries([...seen].sort().map(([name, paths]) => [name, [...paths].sort()]));
}

const pair = z.object({ key: z.string(), fails: z.number().default(0) });

const types = (): TaskType[] => {
  const later = (name: string, handler: (input: unknown, task: TaskContext) => unknown, more = {}) =>
    typeOf(handler as TaskType["handler"], { name, maxAttempts: 3, ...more });
  const child = later("child", () => 1);
  const failed = new Set<string>();
  return [
    defineTask({
      ...{ name: "plain", input: pair, version: 2, upcast: { 1: (key: string) => ({ key, fails: 0 }) } },
      maxAttempts: 3,
      handler: ({ fails }, task) => {
        if (task.attempt <= fails) throw new Error("not yet");
        return { done: task.attempt };
      },
    }) as TaskType,
    defineTask({
      ...{ name: "gathered", input: z.int(), collect: { maxItems: 2, waitSeconds: 60 } },
      handler: (inputs) => inputs.length,
    }) as TaskType,
    later("dead", () => Promise.reject(new PermanentError("never"))),
    later("steps", async (_, task) => {
      await task.step("charge", () => 7);
      await task.sleep(1);
      await task.once("order", () => 1);
      await task.waitFor("go", { timeoutSeconds: 3_600 });
      await task.submit(child, null);
      if (task.state === undefined) await task.checkpoint({ page: 1 });
      return task.sleep(7_200);
    }),
    later("parent", async (_, task) => {
      await task.spawnAll(child, [1, 2, 3], { key: String });
      await task.spawn(child, 4);
    }),
    child,
    later("keyed", () => 1, { concurrency: { limit: 1, key: (input: unknown) => String(input) } }),
    later("rated", () => 1, { rateLimit: { limit: 1, perSeconds: 60 } }),
    later("listed", () => 1, { rateLimit: { limit: 1, perSeconds: 1, longer: [{ limit: 2, perSeconds: 60 }] } }),
    later(
      "breaking",
      (input) => {
        if (!failed.has(String(input))) {
          failed.add(String(input));
          throw new Error("down");
        }
      },
      { breaker: { failures: 2, coolDownSeconds: 30 } },
    ),
    later("large", () => "x".repeat(300_000)),
  ];
};

/** One run. */
export async function writtenShapes(): Promise<Shapes> {
  const pipeline = memoryPipeline(types());
  const { ports, accept, fire, recordOf } = pipeline;
  const pool = workerPool(pipeline);
  const shapes = watch(ports);
  const many = async (type: string, inputs: readonly unknown[], more = {}) => {
    for (const input of inputs) await accept({ type, input, ...more });
  };
  await many("plain", [{ key: "a" }, { key: "b", fails: 1 }, { key: "c", fails: 2 }], {
    ...{ tags: { color: "blue" }, callback: { url: "https://example.com/", include_result: true } },
  });
  await many("plain", [{ key: "later" }], { delay_seconds: 100_000, expires_in_seconds: 200_000 });
  await many("plain", [{ key: "soon" }], { delay_seconds: 600 });
  await many("plain", [{ key: "once" }], { unique: { key: "k", mode: "replace" }, delay_seconds: 60 });
  await many("plain", [{ key: "x".repeat(60_000) }]);
  await many("gathered", [1, 2, 3], { unique: { key: "g", mode: "collect" } });
  for (const [type, inputs] of Object.entries({ dead: [1], parent: [1], large: [1] })) await many(type, inputs);
  for (const [type, inputs] of Object.entries({
    keyed: ["k", "k", "x".repeat(900)],
    rated: [1, 2, 3],
    listed: [1, 2, 3],
  }))
    await many(type, inputs);
  await many("breaking", [1, 2, 3]);
  const stepped = await accept({ type: "steps" });
  const pausing = pause(ports, { scope: "type", type: "child" }, "olga");
  await pool.pass(3_000);
  await pausing;
  await changeLimits(
    ports,
    { name: "plain", priority: "normal" },
    { concurrency: 5, rate: { limit: 9, per_seconds: 1 } },
    "o",
  );
  await pool.pass(60_000);
  await signal(ports, await recordOf(stepped), "go", { ok: true });
  await resume(ports, { scope: "type", type: "child" }, "normal", "olga");
  const hours = async (count: number) => {
    for (let hour = 0; hour < count; hour++) {
      await fire();
      await pool.pass(3_600_000, 60_000);
    }
  };
  await hours(4);
  const letter = ports.records.all().find(({ type }) => type === "dead");
  if (letter !== undefined) await retry(ports, letter);
  await hours(30);
  return shapes();
}
