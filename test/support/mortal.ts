import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import type { FakeClock } from "../../src/memory/clock.ts";

/** A process that dies at one of its calls of a port. */
export interface Life {
  /** Calls until its death. */
  left: number;
  /** Calls that it has made. */
  calls: number;
  /** True: its last call still has its effect. */
  diesAfter: boolean;
  dead: boolean;
}

type Method = (...args: unknown[]) => unknown;

/** Ports whose callers may die. Calls outside a life are as before. Time passes for the dead, but they do nothing any more. */
export class Mortals {
  readonly #living = new AsyncLocalStorage<Life>();

  constructor(clock: FakeClock, ports: readonly object[]) {
    const after = clock.after.bind(clock);
    clock.after = (ms, callback) => after(ms, AsyncResource.bind(callback));
    for (const port of ports) this.#wrap(port as Record<string, Method>);
  }

  run<T>(life: Life, work: () => Promise<T>): Promise<T> {
    return this.#living.run(life, work);
  }

  #wrap(port: Record<string, Method>): void {
    for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(port))) {
      const method = port[name];
      if (method?.constructor.name !== "AsyncFunction") continue;
      port[name] = (...args) => this.#call(() => method.apply(port, args));
    }
  }

  #call(method: () => unknown): unknown {
    const life = this.#living.getStore();
    if (life === undefined) return method();
    if (life.dead) return new Promise(() => {});
    life.calls += 1;
    life.left -= 1;
    if (life.left > 0) return method();
    life.dead = true;
    if (life.diesAfter) method();
    return new Promise(() => {});
  }
}
