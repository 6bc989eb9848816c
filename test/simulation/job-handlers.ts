import type { TaskContext } from "../../src/core/task/context.ts";
import type { FailedTask } from "../../src/core/task/retry.ts";
import type { Invocation } from "./invocation.ts";
import { type JobCall, type JobPlan, jobChildType, jobSignal } from "./job-plans.ts";
import type { Run } from "./runs.ts";
import { takeStored } from "./step-handlers.ts";
import type { World } from "./world.ts";

/** The handler. */
export async function takeJob(world: World, run: Run, plan: JobPlan, task: TaskContext): Promise<unknown> {
  // Its calls are never answered when the attempt has ended.
  run.calls = true;
  let reads = 0;
  for (const { key, attempts, delaySeconds } of plan.spawns) {
    await task.spawn({ type: jobChildType, input: { attempts, key }, key, delaySeconds });
  }
  for (const group of plan.groups) {
    const numbers = group.map((call) => (call.do === "next" ? ++reads : 0));
    await Promise.all(group.map((call, index) => make(world, run, call, numbers[index] ?? 0, task)));
  }
  if (plan.stumbles && task.attempt === 1) throw new Error("the first attempt stumbles");
  if (run.round <= plan.failingRounds) throw new world.core.errors.PermanentError(`round ${run.round} fails`);
  return { attempt: task.attempt };
}

async function make(world: World, run: Run, call: JobCall, number: number, task: TaskContext): Promise<void> {
  if (call.do === "run") return runChild(world, run, call, task);
  if (call.do === "progress") return task.progress(call.percent, { message: `at ${call.percent}` });
  if (call.do === "next") {
    const body = await task.nextSignal(jobSignal, { timeoutSeconds: call.seconds });
    return world.jobs.bodyRead(run, number, body);
  }
  // A step that fails for good is passed over, and one without tries fails the attempt.
  const tried = call.do === "step" && call.tries !== undefined;
  return takeStored(world, run, { ...call, tried }, task);
}

async function runChild(
  world: World,
  run: Run,
  { key, attempts }: Extract<JobCall, { do: "run" }>,
  task: TaskContext,
): Promise<void> {
  const child = { name: jobChildType } as never;
  try {
    const result = await task.run(child, { attempts, key } as never, { key });
    world.jobs.runReturned(run, key, JSON.stringify(result), false);
  } catch (error) {
    const { name, taskId, status } = error as { name?: string; taskId?: string; status?: string };
    if (name !== "ChildFailed") throw error;
    world.jobs.runReturned(run, key, `${status} ${taskId}`, true);
  }
}

/** The code of `onFailed`: it fails, or dies, in some of its attempts. */
export async function handleFailure(
  world: World,
  from: Invocation,
  failed: Pick<FailedTask, "task_id" | "failed_at">,
  task: TaskContext,
): Promise<void> {
  const begun = world.witness.runs.start(from, task, undefined, 20);
  try {
    if (task.attempt < 3 && world.dice.chance(0.2)) throw new Error("onFailed fails");
    if (world.dice.chance(0.1)) from.process.kill("its onFailed exits");
    world.jobs.handled(task, { taskId: failed.task_id, failedAt: failed.failed_at });
  } catch (error) {
    world.witness.runs.threw(begun, error);
    throw error;
  } finally {
    world.witness.runs.end(begun);
  }
}
