import { submitChild } from "../core/child.ts";
import type { ChildSubmit, TaskContext, TaskLog } from "../core/context.ts";
import { PortUnavailable } from "../core/errors.ts";
import { taskIdOf } from "../core/idempotency.ts";
import type { Clock, Delivery, Log } from "../core/ports.ts";
import type { TaskRecord } from "../core/record.ts";
import { registry, type TaskType } from "../core/task.ts";
import { type Verdict, type WorkPorts, workBatch } from "../core/work.ts";
import { stepName } from "./steps.ts";
import type { TaskTrack, World } from "./world.ts";

/** Turns of the event loop in which a handler may go on before time is made to pass. */
const turnsBefore = 20;

const never = <T>() => new Promise<T>(() => {});

/** A promise that is kept for ever once a worker has died: nothing in it goes on. */
export class Worker {
  readonly #world: World;
  readonly #track: TaskTrack;
  readonly #died = Promise.withResolvers<"died">();
  #dead = false;
  /** Whether time is to pass until the attempt ends, whatever its handler waits for. */
  #hurried = false;
  /** The attempt that this worker claimed, over all rounds. Undefined: none. */
  #attempt: number | undefined;

  constructor(world: World, track: TaskTrack) {
    this.#world = world;
    this.#track = track;
  }

  /** Works on one message; `died` when a fault ended this worker. */
  run(delivery: Delivery): Promise<Verdict | "died"> {
    const deadlineMs = this.#world.clock.now() + this.#world.workerSeconds * 1000;
    const working = workBatch(this.#ports(), [delivery], deadlineMs).then(([verdict]) => verdict ?? "again");
    return Promise.race([this.#died.promise, this.#patiently(working)]);
  }

  /**
   * Waits for the work in real time, as a handler may do real things. Time in the kit stands still meanwhile, until patience is
   * at its end: then it passes, and whatever never comes is timed out.
   */
  async #patiently(working: Promise<Verdict>): Promise<Verdict> {
    let done = false;
    const end = working.finally(() => {
      done = true;
    });
    const impatientAt = performance.now() + this.#world.patienceMs;
    for (let turns = 0; !done && !this.#dead; turns++) {
      await turn(turns > 200 ? 1 : 0);
      const hurry = this.#hurried ? turns >= turnsBefore : performance.now() >= impatientAt;
      if (!done && hurry) await this.#passTime();
    }
    return end;
  }

  /** To the next thing that anybody waits for. */
  async #passTime(): Promise<void> {
    const next = this.#world.clock.nextTimer();
    if (next !== undefined) await this.#world.clock.advance(Math.max(0, next - this.#world.clock.now()));
  }

  #ports(): WorkPorts {
    const { records, queues, oneOffs, once, random, log, types } = this.#world;
    const clock = this.#clock();
    const dispatching = {
      clock,
      records: this.#stepping(records),
      queues: this.#stepping(queues),
      oneOffs: this.#stepping(oneOffs),
    };
    return {
      ...dispatching,
      once: this.#stepping(once),
      registry: registry(types.map((type) => this.#watched(type))),
      random,
      timeScale: 1,
      log: log.port,
      watchdog: { guard: () => () => {} },
      submitChild: async (parent, child, key) => this.#submit(dispatching, parent, child, key),
    };
  }

  #clock(): Clock {
    const { clock } = this.#world;
    return { now: () => clock.now(), after: (ms, call) => clock.after(ms, () => this.#dead || call()) };
  }

  /** A port whose every call is a step at which something can go wrong. */
  #stepping<Port extends object>(port: Port): Port {
    return new Proxy(port, {
      get: (target, method) => {
        const call: unknown = Reflect.get(target, method);
        if (typeof call !== "function") return call;
        return (...given: unknown[]) => this.#step(stepName(String(method), given), () => call.apply(target, given));
      },
    });
  }

  async #step<T>(name: string, call: () => Promise<T>): Promise<T> {
    if (this.#dead) return never();
    const claiming = name === "claim";
    const attempt = claiming ? this.#track.started + 1 : this.#attempt;
    const step = claiming ? 1 : this.#track.stepsOf(attempt).length + 1;
    const how = attempt === undefined ? undefined : this.#track.faults.take(attempt, step);
    if (how === "refuse") {
      if (!claiming) this.#track.stepsOf(attempt).push(`${name} (refused)`);
      throw new PortUnavailable(name);
    }
    const answer = await call();
    if (claiming && (answer as { done: boolean }).done) this.#begin();
    if (this.#attempt !== undefined) this.#track.stepsOf(this.#attempt).push(name);
    if (how !== undefined) await this.#suffer(how, name);
    return this.#dead ? never() : answer;
  }

  #begin(): void {
    this.#track.started += 1;
    this.#attempt = this.#track.started;
  }

  async #suffer(how: "crash" | "lose" | "timeout" | "cancel", name: string): Promise<void> {
    if (how === "lose") throw new PortUnavailable(name);
    if (how === "crash") {
      this.#dead = true;
      this.#died.resolve("died");
      return;
    }
    if (how === "cancel") await this.#world.cancel(this.#track.key);
    this.#hurried = true;
  }

  /** A type whose handler's progress and log lines are noted. */
  #watched(type: TaskType): TaskType {
    const handler = type.handler as (input: unknown, task: TaskContext) => unknown;
    return { ...type, handler: (input: never, task: TaskContext) => handler(input, this.#watch(task)) };
  }

  #watch(task: TaskContext): TaskContext {
    const progress = (percent: number) => {
      if (!this.#dead) this.#track.progress.push(percent);
      task.progress(percent);
    };
    return Object.freeze({ ...task, progress, log: this.#world.log.noting(task.log, this.#track, task.attemptOverall) });
  }

  /** A type that the kit has is submitted and run; of any other only the submit is noted. */
  async #submit(
    ports: Parameters<typeof stub>[0],
    parent: TaskRecord,
    child: ChildSubmit,
    key: string,
  ): Promise<string> {
    const { world, known } = { world: this.#world, known: this.#world.known };
    const taskId = known.has(child.type)
      ? await submitChild({ ...ports, newId: world.newId, types: known })(parent, child, key)
      : await this.#step(`submit ${child.type}`, () => stub(ports, parent, key));
    this.#track.submitted.set(taskId, { ...child, taskId });
    return taskId;
  }
}

/** The id that a submit of an unknown type gets: the same for the same place, as a real one. */
const stub = async (_ports: Pick<WorkPorts, "clock" | "records" | "queues" | "oneOffs">, parent: TaskRecord, key: string) =>
  taskIdOf(parent.tenant_id, parent.requested_by, `${parent.task_id} ${key}`);

/** A turn of the event loop, in which promises and what was read or written can go on. */
const turn = (waitMs: number) =>
  new Promise<void>((resolve) => (waitMs === 0 ? setImmediate(resolve) : setTimeout(resolve, waitMs)));

export type { Log, TaskLog };
