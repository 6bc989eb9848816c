import type { FirePayload } from "../../src/core/ports.ts";
import { portsFor } from "./ports.ts";
import { newInvocation } from "./serve.ts";
import { useUp } from "./weather.ts";
import type { World } from "./world.ts";

/** The time-out of the fire function, and for how long Scheduler tries again, in seconds. */
const fireSeconds = 15;
const retrySeconds = 86_400;

/** EventBridge Scheduler's one-offs: each fires at least once, up to a minute late, and is deleted some time after. */
export class Schedules {
  readonly #world: World;
  readonly #names = new Set<string>();

  constructor(world: World) {
    this.#world = world;
  }

  create({ name, at, payload }: { name: string; at: string; payload: FirePayload }): void {
    const { time, dice, weather } = this.#world;
    if (this.#names.has(name)) return;
    this.#names.add(name);
    const dueAt = Math.floor(Date.parse(at) / 1000) * 1000;
    time.at(dueAt + dice.int(0, 59_999), () => {
      if (!this.#names.has(name)) return;
      this.#fire(name, payload, time.now);
      if (useUp(weather, dice.chance(weather.fireTwice)))
        time.after(dice.spread(1, 7_200_000), () => this.#fire(name, payload, time.now));
      time.after(dice.spread(1, 600_000), () => this.#names.delete(name));
    });
  }

  delete(name: string): void {
    this.#names.delete(name);
  }

  /** How many there are. */
  get size(): number {
    return this.#names.size;
  }

  /** Calls the fire function until it answers, for a day. */
  #fire(name: string, payload: FirePayload, sinceMs: number): void {
    const { time, dice, core, witness, story } = this.#world;
    const { process, invoke } = newInvocation(this.#world, "fire", "fire");
    const invocation = invoke();
    story.tell(time.now, invocation.name, () => `fires ${name}`);
    const again = () => {
      if (time.now - sinceMs > retrySeconds * 1000)
        return witness.violated(`the schedule ${name} could not be fired for a day`);
      time.after(dice.spread(1000, 120_000), () => this.#fire(name, payload, sinceMs));
    };
    const deadline = time.after(fireSeconds * 1000, () => process.kill("the function's time-out"));
    process.onDeath(again);
    const ports = portsFor(this.#world, invocation);
    core.fire.fireTask(ports, core.fire.readPayload(JSON.parse(JSON.stringify(payload))) as FirePayload).then(
      (what) => {
        story.tell(time.now, invocation.name, () => what);
        deadline.off = true;
        this.#world.processes.living.delete(process);
      },
      () => {
        deadline.off = true;
        this.#world.processes.living.delete(process);
        again();
      },
    );
  }
}
