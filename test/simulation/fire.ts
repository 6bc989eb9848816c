import type { FirePayload } from "../../src/core/ports/tasks.ts";
import { portsFor } from "./ports.ts";
import { newInvocation } from "./serve.ts";
import type { World } from "./world.ts";

/** The time-out of the fire function, and for how long Scheduler tries again, in seconds. */
const fireSeconds = 15;
const retrySeconds = 86_400;

/** Calls the fire function until it answers, for a day. */
export function fire(world: World, name: string, payload: FirePayload, sinceMs: number): void {
  const { time, dice, core, witness, story, processes } = world;
  const { process, invoke } = newInvocation(world, "fire", "fire");
  const invocation = invoke();
  story.tell(time.now, invocation.name, () => `fires ${name}`);
  const again = () => {
    if (time.now - sinceMs > retrySeconds * 1000)
      return witness.violated(`the schedule ${name} could not be fired for a day`);
    time.after(dice.spread(1000, 120_000), () => fire(world, name, payload, sinceMs));
  };
  const deadline = time.after(fireSeconds * 1000, () => process.kill("the function's time-out"));
  process.onDeath(again);
  const ports = portsFor(world, invocation);
  const firing = core.fire.readPayload(JSON.parse(JSON.stringify(payload))) as FirePayload;
  const work =
    firing.kind === "task"
      ? core.fireTask.fireTask(ports, firing)
      : ports.notices.send([firing.notice]).then(() => "sends a notice");
  work.then(
    (what) => {
      story.tell(time.now, invocation.name, () => what);
      deadline.off = true;
      processes.living.delete(process);
    },
    () => {
      deadline.off = true;
      processes.living.delete(process);
      again();
    },
  );
}
