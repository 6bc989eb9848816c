import type { ProblemCode } from "../../src/core/model/problem.ts";
import type { Invocation } from "./invocation.ts";
import { Process } from "./scheduler.ts";
import { useUp } from "./weather.ts";
import type { World } from "./world.ts";

/** A process that serves one function, one invocation at a time. */
export interface Serving {
  process: Process;
  invoke(): Invocation;
}

/** Starts a process for a function. */
export function newInvocation(world: World, kind: Invocation["kind"], label: string): Serving {
  const process = new Process(world.time, `${label}-${world.processes.started++}`);
  const { story, time, dice } = world;
  const skewMs = dice.chance(world.weather.skew) ? dice.int(-200, 200) : 0;
  let count = 0;
  world.processes.living.add(process);
  process.onDeath((why) => {
    world.processes.living.delete(process);
    story.tell(time.now, process.name, () => `✝ ${why}`);
  });
  const invoke = (): Invocation => ({
    kind,
    name: `${process.name}.${++count}`,
    process,
    skewMs,
    troubledUntil: 0,
  });
  return { process, invoke };
}

/** What a client gets to see: a value, a problem, or nothing. */
export type Answer<T> = { got: "value"; value: T } | { got: "problem"; code: string } | { got: "nothing" };

/** Time-out of the functions behind the API, in seconds. */
const apiSeconds = 15;

/** Calls a function of the API in a process of its own. */
export function serve<T>(
  world: World,
  kind: "submit" | "control",
  tenantId: string,
  what: () => string,
  work: (invocation: Invocation) => Promise<T>,
): Promise<Answer<T>> {
  const { process, invoke } = newInvocation(world, kind, kind);
  const { time, dice, weather, story } = world;
  const invocation = { ...invoke(), tenantId };
  story.tell(time.now, invocation.name, what);
  return new Promise((resolve) => {
    const deadline = time.after(apiSeconds * 1000, () => process.kill("the function's time-out"));
    process.onDeath(() => time.after(dice.int(0, 1000), () => resolve({ got: "nothing" })));
    const respond = (answer: Answer<T>) => {
      deadline.off = true;
      const lost = useUp(weather, dice.chance(weather.loseResponse));
      story.tell(time.now, invocation.name, () => `answers ${answerText(answer)}${lost ? " ✗ lost on its way" : ""}`);
      world.processes.living.delete(process);
      resolve(lost ? { got: "nothing" } : answer);
    };
    work(invocation).then(
      (value) => respond({ got: "value", value }),
      (error: unknown) => respond({ got: "problem", code: problemCode(world, error) }),
    );
  });
}

const answerText = (answer: Answer<unknown>): string => (answer.got === "problem" ? answer.code : answer.got);

/** What the API makes of an error: a bug is none of the answers that a client should ever see. */
export function problemCode(world: World, error: unknown): ProblemCode {
  if (error instanceof world.core.problem.Problem) return error.code;
  if (error instanceof world.core.errors.PortUnavailable) return "unavailable";
  if (error instanceof world.core.errors.Overtaken) return "conflict";
  world.witness.violated(`a function of the API threw: ${error instanceof Error ? error.stack : String(error)}`);
  return "internal";
}
