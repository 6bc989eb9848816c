import { z } from "zod";
import type { ErrorKind } from "../../src/core/model/errors.ts";
import type { SubmitPorts } from "../../src/core/pipeline/submit/submit-ports.ts";
import type { EndPorts } from "../../src/core/ports/extra.ts";
import type { KnownType } from "../../src/core/task/catalog.ts";
import type { TaskContext } from "../../src/core/task/context.ts";
import { internalOptions, internalTimeoutSeconds } from "../../src/core/task/internal-types.ts";
import type { Children } from "../../src/core/task/result.ts";
import type { TaskType } from "../../src/core/task/task.ts";
import { shopType } from "./breaker-laws.ts";
import type { Core } from "./core.ts";
import { sweepFor } from "./dead-letters.ts";
import { sizedType } from "./flow-laws.ts";
import { workBegins } from "./follow.ts";
import type { Invocation } from "./invocation.ts";
import { handleFailure, takeJob } from "./job-handlers.ts";
import { type JobPlan, jobChildType, jobType } from "./job-plans.ts";
import { pacedTypes } from "./paced-laws.ts";
import { familyType, lostType, type Step } from "./plans.ts";
import { listedRates, listedType } from "./rate-laws.ts";
import type { Run } from "./runs.ts";
import { takeStored } from "./step-handlers.ts";
import { hasSteps, longStepsType, type StoredStep } from "./step-plans.ts";
import { request } from "./wire.ts";
import type { World } from "./world.ts";

const input = z.object({
  attempts: z.unknown(),
  key: z.string().optional(),
  pad: z.string().optional(),
  size: z.number().optional(),
});

const key = ({ key = "none" }: z.output<typeof input>) => key;

const sized =
  ({ times }: { times: number }) =>
  ({ size = 1 }: z.output<typeof input>) =>
    times * size;

/** Types whose time-outs and waits reach every branch of the core; `deaf` steps and endless ones need their time-outs. */
const options = [
  { name: "quick", timeoutSeconds: 5 },
  { name: "soon", timeoutSeconds: 3, retry: { waitsSeconds: [1], jitter: "none" as const } },
  { name: "late", timeoutSeconds: 10, retry: { waitsSeconds: [1000, 40_000], jitterRatio: 0.2 } },
  { name: "long", timeoutSeconds: 400, retry: { waitsSeconds: [1, 60] } },
  { name: "longest", timeoutSeconds: 840, retry: { waitsSeconds: [5, 60] } },
  { name: "fixed", timeoutSeconds: 20, cancellable: false },
  { name: familyType, timeoutSeconds: 30, retry: { waitsSeconds: [1, 20] }, children: { threshold: 0.4 } },
  { name: "steps", timeoutSeconds: 20, retry: { waitsSeconds: [1, 30] } },
  { name: longStepsType, timeoutSeconds: 600, retry: { waitsSeconds: [1, 30] } },
  { name: "lasting", timeoutSeconds: 12, retry: { waitsSeconds: [1000, 40_000], jitterRatio: 0.2 } },
  { name: "placed", timeoutSeconds: 12, retry: { waitsSeconds: [1, 30] }, concurrency: { key, limit: 2 } },
  { name: "placedlong", timeoutSeconds: 300, retry: { waitsSeconds: [1, 30] }, concurrency: { key, limit: 2 } },
  {
    name: "strict",
    timeoutSeconds: 12,
    retry: { waitsSeconds: [1, 30] },
    concurrency: { key, limit: 1, order: "strict" as const },
  },
  {
    name: "held",
    timeoutSeconds: 12,
    retry: { waitsSeconds: [1, 30] },
    concurrency: { key, limit: 1, order: "strict" as const, onDeadLetter: "hold" as const },
    rateLimit: { limit: 5, perSeconds: 10 },
  },
  { name: "rated", timeoutSeconds: 8, retry: { waitsSeconds: [1, 30] }, rateLimit: { key, limit: 2, perSeconds: 10 } },
  {
    name: "both",
    timeoutSeconds: 8,
    retry: { waitsSeconds: [1, 30] },
    concurrency: { limit: 1 },
    rateLimit: { key, limit: 1, perSeconds: 3, scope: "deployment" as const },
  },
  {
    name: "breaking",
    timeoutSeconds: 8,
    retry: { waitsSeconds: [1, 30] },
    breaker: { failures: 2, coolDownSeconds: 40 },
  },
  {
    name: listedType,
    timeoutSeconds: 8,
    retry: { waitsSeconds: [1, 30] },
    rateLimit: [
      { key, ...listedRates[0] },
      { key, ...listedRates[1] },
      { key, ...listedRates[2] },
    ],
  },
  {
    name: sizedType,
    timeoutSeconds: 12,
    retry: { waitsSeconds: [1, 30] },
    concurrency: { key, limit: ({ size = 1 }: z.output<typeof input>) => size },
  },
  {
    name: "paced",
    timeoutSeconds: 8,
    retry: { waitsSeconds: [1, 30] },
    rateLimit: { key, limit: sized(pacedTypes.paced[0]), perSeconds: pacedTypes.paced[0].perSeconds },
  },
  {
    name: "pacedlist",
    timeoutSeconds: 8,
    retry: { waitsSeconds: [1, 30] },
    rateLimit: [
      { key, limit: sized(pacedTypes.pacedlist[0]), perSeconds: pacedTypes.pacedlist[0].perSeconds },
      { key, limit: sized(pacedTypes.pacedlist[1]), perSeconds: pacedTypes.pacedlist[1].perSeconds },
    ],
  },
  {
    name: shopType,
    timeoutSeconds: 8,
    retry: { waitsSeconds: [1, 30] },
    breaker: { key, failures: 2, coolDownSeconds: 40 },
  },
  {
    name: jobType,
    timeoutSeconds: 20,
    retry: { waitsSeconds: [1, 30] },
    children: { threshold: 0.6, stopOnFailure: true },
  },
  { name: jobChildType, timeoutSeconds: 10, retry: { waitsSeconds: [1, 60] } },
  { name: "gathering", timeoutSeconds: 5, retry: { waitsSeconds: [1] }, collect: { maxItems: 3, waitSeconds: 4 } },
  {
    name: "gatherplaced",
    timeoutSeconds: 5,
    retry: { waitsSeconds: [1] },
    collect: { maxItems: 3, waitSeconds: 4 },
    concurrency: { key, limit: 1 },
  },
  {
    name: "gatherrated",
    timeoutSeconds: 5,
    retry: { waitsSeconds: [1] },
    collect: { maxItems: 3, waitSeconds: 4 },
    rateLimit: { key, limit: 2, perSeconds: 10 },
  },
  { name: "fragile", timeoutSeconds: 8, retry: { kinds: { crashed: "stop" as const, timed_out: "stop" as const } } },
] as const;

/** A submit notes that a task of onFailed follows. */
const ofJobs = ({ name }: { name: string }) => (name === jobType ? { onFailed: () => null } : {});

/** The text of a handler says which signals it reads one after the other. */
const handlerOf = ({ name }: { name: string }) =>
  name === jobType ? (_: unknown, task: TaskContext) => task.nextSignal("msg", { timeoutSeconds: 1 }) : () => null;

const known = new WeakMap<Core, ReadonlyMap<string, KnownType>>();

export function knownTypes(core: Core): ReadonlyMap<string, KnownType> {
  const made = known.get(core);
  if (made !== undefined) return made;
  const types = [...options, { name: lostType }].map((one) =>
    core.task.defineTask({ ...one, ...ofJobs(one), input, handler: handlerOf(one) }),
  );
  const map = core.catalog.knownTypesOf(types);
  known.set(core, map);
  return map;
}

type Defined = { own: TaskType[]; cancels: TaskType; sweeps: TaskType };

const definitions = new WeakMap<Core, Defined>();

/** The types without their handlers, defined once for each core: an invocation would spend a fifth of its time on them. */
function definedTypes(core: Core): Defined {
  const made = definitions.get(core);
  if (made !== undefined) return made;
  const { defineTask } = core.task;
  const own = options.map((one) =>
    defineTask({
      ...one,
      input,
      ...(one.name === familyType ? { aggregate: () => null } : {}),
      ...ofJobs(one),
      handler: () => null,
    }),
  );
  const defined = {
    own,
    cancels: defineTask({ ...internalOptions.cancelChildren, handler: () => null }),
    sweeps: defineTask({ ...internalOptions.sweep, handler: () => null }),
  };
  definitions.set(core, defined);
  return defined;
}

/** The types as one invocation of a worker has them. */
export function typesFor(world: World, from: Invocation, ports: SubmitPorts & EndPorts): TaskType[] {
  const { own, cancels, sweeps } = definedTypes(world.core);
  const begin = (task: TaskContext, given: unknown, timeoutSeconds: number) =>
    world.witness.runs.start(from, task, given, timeoutSeconds);
  const handled = own.map(
    (type): TaskType => ({
      ...type,
      ...(type.onFailed && {
        onFailed: (_input, { taskId, failedAt }, task) =>
          handleFailure(world, from, { task_id: taskId, failed_at: failedAt }, task),
      }),
      ...(type.aggregate && { aggregate: (children, task) => aggregate(world, from, children, task) }),
      handler: (given: z.output<typeof input>, task) => {
        if (Array.isArray(given)) {
          world.witness.flow.started(type.name, from, task, given[0]);
          return handleList(world, begin(task, given, type.timeoutSeconds), given);
        }
        const begun = begin(task, given, type.timeoutSeconds);
        world.witness.steps.started(begun);
        world.witness.flow.started(type.name, from, task, given);
        const attempts = structuredClone(given.attempts) as Step[][];
        // Its input is the handler's own: no later attempt may see this.
        (given.attempts as unknown[]).length = 0;
        if (type.name === jobType) return runWhole(world, begun, attempts as unknown as JobPlan[][], task);
        return run(world, begun, attempts);
      },
    }),
  );
  const cancelling: TaskType = {
    ...cancels,
    handler: async (parent: z.output<typeof internalOptions.cancelChildren.input>, task) => {
      const begun = begin(task, parent, internalTimeoutSeconds);
      await world.core.cancelChildren.cancelChildren(ports, parent).finally(() => world.witness.runs.end(begun));
      return { attempt: task.attempt };
    },
  };
  const sweeping: TaskType = {
    ...sweeps,
    handler: async (given: z.output<typeof internalOptions.sweep.input>, task) => {
      const begun = begin(task, given, internalTimeoutSeconds);
      await sweepFor(world, from, ports, given.tier, task).finally(() => world.witness.runs.end(begun));
      return { attempt: task.attempt };
    },
  };
  return [...handled, cancelling, sweeping];
}

/** The steps of a list are those of its first input. */
function handleList(world: World, begun: Run, given: z.output<typeof input>[]): Promise<unknown> {
  const { taskId: task_id } = begun.task;
  const markers = given.map(({ pad = "" }) => pad);
  world.witness.lists.handled({ task_id, created_at: begun.life?.createdAt ?? "" }, markers, 3);
  return run(world, begun, structuredClone(given[0]?.attempts ?? []) as Step[][]);
}

/** Reads every child's result, and sometimes dies or fails. */
async function aggregate(world: World, from: Invocation, children: Children, task: TaskContext): Promise<unknown> {
  const begun = world.witness.runs.start(from, task, undefined, 30);
  try {
    let seen = 0;
    for await (const { status } of children.results()) seen += Number(status !== undefined);
    if (seen !== children.total) {
      world.witness.violated(`family: ${children.total} children, and ${seen} results`, task.taskId);
    }
    const name = `aggregate ${begun.round}: sum`;
    const sum = await task.step("sum", (key) => world.witness.steps.effect(begun, name, key));
    world.witness.steps.stepReturned(begun, name, sum);
    if (world.dice.chance(0.1)) from.process.kill("its aggregate exits");
    if (world.dice.chance(0.1)) throw new Error("the aggregate fails");
    return { attempt: task.attempt, total: children.total };
  } finally {
    world.witness.runs.end(begun);
  }
}

async function runWhole(world: World, run: Run, attempts: JobPlan[][], task: TaskContext): Promise<unknown> {
  const plan = attempts[0]?.[0];
  if (plan === undefined) throw new Error("a job has a plan");
  try {
    return await takeJob(world, run, plan, task);
  } catch (error) {
    world.witness.steps.caught(run, error);
    world.witness.runs.threw(run, error);
    throw error;
  } finally {
    world.witness.runs.end(run);
  }
}

async function run(world: World, run: Run, attempts: Step[][]): Promise<unknown> {
  const { witness, story, time } = world;
  const { from, task } = run;
  // Suspended attempts are not counted, so that a bad end comes behind the sleeps before it.
  const number = hasSteps(task.type) ? task.attempt : task.attemptOverall;
  const steps = attempts[Math.min(number, attempts.length) - 1] ?? [];
  let result: unknown = { attempt: task.attempt };
  let hasRaced = false;
  try {
    for (const step of steps) {
      story.tell(
        time.now,
        from.name,
        () => `${story.name(task.taskId)} #${task.attemptOverall} ${JSON.stringify(step).slice(0, 120)}`,
      );
      // The loser of a race may still wait: then the attempt is suspended, whatever its handler does.
      hasRaced ||= step.do === "together" && step.race;
      run.calls = hasRaced || isStored(step);
      if (step.do === "big") result = { attempt: task.attempt, text: "x".repeat(step.bytes) };
      else if (isStored(step))
        await witness.runs.watch(run, callOf(step, task), () => takeStored(world, run, step, task));
      else if (step.do === "stray") await stray(world, run, step.ms);
      else await witness.runs.watch(run, step.do, () => take(world, from, step, task));
    }
    return result;
  } catch (error) {
    witness.steps.caught(run, error);
    witness.runs.threw(run, error);
    throw error;
  } finally {
    witness.runs.end(run);
  }
}

const isStored = (step: Step): step is StoredStep => storedSteps.has(step.do);
/** The call that a step makes. Pages that an earlier attempt has done are none. */
const callOf = (step: StoredStep, { state }: TaskContext): string =>
  step.do === "pages" && ((state as { page: number } | undefined)?.page ?? 0) >= step.count ? "none" : step.do;

const storedSteps: ReadonlySet<string> = new Set(["step", "nap", "wait", "together", "pages"] as const);

async function take(
  world: World,
  from: Invocation,
  step: Exclude<Step, StoredStep | { do: "big" | "stray" }>,
  task: TaskContext,
): Promise<void> {
  if (step.do === "sleep") return sleep(from, step.ms, step.deaf ? undefined : task.signal);
  if (step.do === "progress") return task.progress(step.percent);
  if (step.do === "hang") {
    // Nothing is under way, so that its attempt may be suspended while the loser of a race is open.
    world.witness.steps.rests(task);
    return new Promise(() => {});
  }
  if (step.do === "fail") throw errorOf(world.core, step.kind, step.retryAfterSeconds);
  if (step.do === "unkept") return runUnkept(world, from, task);
  if (step.do === "once") return runOnce(world, from, step.key, task);
  if (step.do === "submit") return submitChild(world, step, task);
  if (step.do === "spawn") return spawnChild(world, step, task);
  from.process.kill("its handler exits");
  return new Promise(() => {});
}

async function submitChild(world: World, step: Extract<Step, { do: "submit" }>, task: TaskContext): Promise<void> {
  const { type, tier, attempts } = step.child;
  const taskId = await task.submit({
    type,
    input: { attempts },
    ...(tier === undefined ? {} : { priority: tier }),
    ...(step.key === undefined ? {} : { key: step.key }),
    ...(step.delaySeconds === undefined ? {} : { delaySeconds: step.delaySeconds }),
    ...(step.uniqueKey === undefined ? {} : { unique: { key: step.uniqueKey, mode: "existing" } }),
  });
  world.witness.runs.childAccepted(task.taskId, step.place, taskId);
}

async function spawnChild(world: World, step: Extract<Step, { do: "spawn" }>, task: TaskContext): Promise<void> {
  const { type, tier, attempts } = step.child;
  const taskId = await task.spawn({
    type,
    input: { attempts },
    ...(tier === undefined ? {} : { priority: tier }),
    ...(step.key === undefined ? {} : { key: step.key }),
    ...(step.expiresInSeconds === undefined ? {} : { expiresInSeconds: step.expiresInSeconds }),
  });
  world.witness.runs.childAccepted(task.taskId, 1000 + step.place, taskId);
}

/** A side effect outside, which must happen once for the tenant and key. */
async function runOnce(world: World, from: Invocation, key: string, task: TaskContext): Promise<void> {
  const { runs } = world.witness;
  const value = await task.once(key, async () => {
    await sleep(from, world.dice.spread(10, 2500), undefined);
    return request(world, from, {
      service: "outside",
      what: () => `does the side effect ${key}`,
      apply: () => runs.effect(from, task, key),
    });
  });
  runs.onceAnswered(task, key, value);
}

/** A side effect whose outcome cannot be stored: it is done once, and each attempt that asks for it fails for good. */
async function runUnkept(world: World, from: Invocation, task: TaskContext): Promise<void> {
  const { runs } = world.witness;
  let done = false;
  try {
    await task.once("unkept", async () => {
      const apply = () => runs.effect(from, task, "unkept");
      const value = await request(world, from, { service: "outside", what: () => "does what cannot be kept", apply });
      done = true;
      return BigInt(value);
    });
  } catch (error) {
    if (done && error instanceof world.core.errors.PermanentError) runs.unkept(task, "unkept");
    throw error;
  }
  world.witness.violated("once: an outcome that cannot be kept was given", task.taskId);
}

/** Code that nobody awaits fails, and the handler goes on until its time is over. */
function stray(world: World, run: Run, ms: number): Promise<never> {
  const receive = world.core.ambient.strayReceiver();
  workBegins(run.from);
  run.from.process.after(ms, () => {
    const error = new Error(`strays after ${ms} ms`);
    world.witness.runs.threw(run, error);
    receive?.(error);
  });
  return new Promise(() => {});
}

function sleep(from: Invocation, ms: number, signal: AbortSignal | undefined): Promise<void> {
  const ends = workBegins(from);
  return new Promise<void>((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const happening = from.process.after(ms, resolve);
    signal?.addEventListener("abort", () => {
      happening.off = true;
      reject(signal.reason);
    });
  }).finally(ends);
}

const httpStatus: { readonly [kind in ErrorKind]?: number } = {
  conflict: 409,
  not_found: 404,
  rate_limited: 429,
  unavailable: 503,
};

function errorOf({ errors }: Core, kind: ErrorKind, retryAfterSeconds: number | undefined): Error {
  if (kind === "permanent") return new errors.PermanentError("it cannot be");
  if (kind === "business_rule") return new errors.BusinessRuleViolation("it must not be");
  if (kind === "validation") return new errors.InvalidInput("it does not fit");
  if (retryAfterSeconds !== undefined) return new errors.RetryAfter(retryAfterSeconds);
  const status = httpStatus[kind];
  return Object.assign(new Error(`fails with ${kind}`), status === undefined ? {} : { status });
}
