import type { TaskContext } from "../../src/core/task/context.ts";
import { workBegins } from "./follow.ts";
import type { Run } from "./runs.ts";
import type { StepCall, StoredStep } from "./step-plans.ts";
import type { World } from "./world.ts";

/** Makes a handler's calls whose results are stored, and shows the witness what they returned. */
export async function takeStored(world: World, run: Run, step: StoredStep, task: TaskContext): Promise<void> {
  if (step.do === "pages") return workOnPages(world, run, step, task);
  if (step.do !== "together") return make(world, run, step, task, true);
  const calls = step.calls.map((call) => make(world, run, call, task, !step.race));
  // The calls that lose a race may fail later, when nobody listens.
  for (const call of calls) call.catch(() => {});
  if (!step.race) return void (await Promise.all(calls));
  await Promise.race(calls);
  await act(world, run, step.actMs);
}

/** An effect that is no step. The losers of the race may still wait. */
async function act(world: World, run: Run, ms: number): Promise<void> {
  const { steps } = world.witness;
  const ends = workBegins(run.from);
  const acted = steps.acts(run);
  await sleep(run, ms);
  acted();
  ends();
}

async function make(
  world: World,
  run: Run,
  call: StepCall & { tried?: boolean },
  task: TaskContext,
  prompt: boolean,
): Promise<void> {
  try {
    await makeUntried(world, run, call, task, prompt);
  } catch (error) {
    world.witness.steps.caught(run, error);
    if (call.tried !== true) throw error;
  }
}

async function makeUntried(world: World, run: Run, call: StepCall, task: TaskContext, prompt: boolean): Promise<void> {
  const { steps } = world.witness;
  if (call.do === "nap") {
    steps.napCalled(run, call.place, call.seconds);
    await task.sleep(call.seconds);
    steps.napReturned(run, call.place, call.seconds, prompt);
  } else if (call.do === "wait") {
    steps.waitCalled(run, call.name);
    const body = await task.waitFor(call.name, { timeoutSeconds: call.seconds });
    steps.waitReturned(run, call.name, call.seconds, prompt, body);
  } else {
    if (call.tries !== undefined) return makeTries(world, run, call, task);
    const value = await task.step(call.name, (key) => runStep(world, run, call, key));
    steps.stepReturned(run, call.name, value);
  }
}

/** A step that is tried again by itself. */
async function makeTries(
  world: World,
  run: Run,
  call: Extract<StepCall, { do: "step" }>,
  task: TaskContext,
): Promise<void> {
  const { steps } = world.witness;
  const { name, tries = 1, waitSeconds = 1 } = call;
  const options = { maxAttempts: tries, retry: { baseSeconds: waitSeconds, factor: 1 } };
  // It may wait between its tries, and so the handler waits anew.
  steps.rests(run.task);
  let value: unknown;
  try {
    value = await task.step(name, options, (key, { attempt }) => {
      steps.tryBegins(run, name, attempt, tries);
      return runStep(world, run, call, key);
    });
  } catch (error) {
    steps.stepFailed(run, name, tries, error);
    throw error;
  }
  steps.stepReturned(run, name, value);
}

async function runStep(
  world: World,
  run: Run,
  { name, ms, risk, empty }: Extract<StepCall, { do: "step" }>,
  key: string,
): Promise<unknown> {
  await sleep(run, ms / 2);
  await maybeFail(world, run, risk / 2);
  const value = world.witness.steps.effect(run, name, key);
  await sleep(run, ms / 2);
  await maybeFail(world, run, risk / 2);
  return empty ? undefined : value;
}

async function workOnPages(
  world: World,
  run: Run,
  { count, ms, perAttempt, risk, twice }: Extract<StoredStep, { do: "pages" }>,
  task: TaskContext,
): Promise<void> {
  const { steps } = world.witness;
  const { page: first } = (task.state ?? { page: 0 }) as { page: number };
  for (let page = first; page < count; ) {
    await sleep(run, ms);
    page += 1;
    await maybeFail(world, run, risk);
    const state = { page, by: task.attemptOverall };
    // States are stored in the order of the calls, also where the handler does not wait.
    const half = twice ? { ...state, half: true } : undefined;
    const earlier = half && task.checkpoint(half).then(() => steps.stateAcknowledged(run, half));
    await Promise.all([earlier, task.checkpoint(state).then(() => steps.stateAcknowledged(run, state))]);
    if (page - first >= perAttempt && page < count) return task.continueLater();
  }
}

/** Kills the worker or throws, with a probability. */
async function maybeFail({ dice }: World, { from }: Run, risk: number): Promise<void> {
  if (!dice.chance(risk)) return;
  if (dice.chance(0.4)) throw new Error("the step fails");
  from.process.kill("dies in a step");
  await new Promise(() => {});
}

const sleep = ({ from }: Run, ms: number) => new Promise<void>((resolve) => from.process.after(ms, resolve));
