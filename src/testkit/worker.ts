import { cancelChildren, supersede } from "../core/control/cancel-others.ts";
import { rejoinChild, spawnChild, submitChild } from "../core/extras/children/child.ts";
import type { FlowBook } from "../core/extras/limits/flow-book.ts";
import { limiter } from "../core/extras/limits/index.ts";
import { followers } from "../core/extras/list.ts";
import { submitUnique } from "../core/extras/unique/submit-unique.ts";
import { describeError } from "../core/model/describe-error.ts";
import { PortUnavailable } from "../core/model/errors.ts";
import { shownKey } from "../core/model/family-node.ts";
import { spawnedId, taskIdOf } from "../core/model/idempotency.ts";
import type { TaskKey, TaskRecord } from "../core/model/record.ts";
import { firstPlaceIn, plainStackOf, stackText } from "../core/model/stack.ts";
import type { SubmitPorts } from "../core/pipeline/submit/submit-ports.ts";
import { workBatch } from "../core/pipeline/work/work.ts";
import type { WorkPorts } from "../core/pipeline/work/work-message.ts";
import type { EndPorts } from "../core/ports/extra.ts";
import type { Verdict } from "../core/ports/queues.ts";
import { type Clock, type Delivery, type NewId, noTracing, type Random } from "../core/ports/tasks.ts";
import { handlerSchedules } from "../core/schedules/handler-schedules.ts";
import type { KnownType } from "../core/task/catalog.ts";
import type { ChildSubmit } from "../core/task/handler-submit.ts";
import { internalOptions } from "../core/task/internal-types.ts";
import { defineTask, registry, type TaskType } from "../core/task/task.ts";
import { containerWorkSeconds } from "../core/task/type-options.ts";
import { disk } from "../machine/disk.ts";
import { follow } from "../machine/follow.ts";
import { turn } from "../machine/turn.ts";
import type { FakeClock } from "../memory/clock.ts";
import { noMetrics } from "../memory/others.ts";
import type { MemoryStores } from "../memory/stores.ts";
import { workerTimeoutSeconds } from "../settings/config.ts";
import type { Fault } from "./faults.ts";
import { onClock } from "./kit-date.ts";
import { passTime } from "./pass-time.ts";
import {
  entryStepName,
  keyStepName,
  listStepName,
  objectStepName,
  ruleStepName,
  scheduleStepName,
  stepName,
  suspendStep,
} from "./steps.ts";
import type { Lines, Step, Track } from "./track.ts";
import { type HandlerStep, type Watch, watchedType } from "./watch.ts";

/** URL of the API in the kit, where no API is. */
const apiUrl = "https://api.offload.test";

/** A promise that never resolves, for the calls of a dead worker. */
const never = <T>() => new Promise<T>(() => {});

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });

/** The deployment in memory to which a worker belongs. */
export interface WorkerWorld {
  readonly clock: FakeClock;
  readonly stores: MemoryStores;
  readonly flow: FlowBook;
  readonly lines: Lines;
  readonly types: readonly TaskType[];
  readonly known: ReadonlyMap<string, KnownType>;
  readonly random: Random;
  /** Real time in milliseconds that the kit waits for a handler before it advances its own time. */
  readonly patienceMs: number;
  readonly newId: NewId;
  cancel(key: TaskKey): Promise<void>;
  /** The notes about a child, which is in the family of its parent. */
  childTrack(parent: Track, taskId: string, key: string): Track;
  /** Notes which tasks led to a new task. */
  follow(parent: Track, taskId: string, type: string): void;
  /** Reports an error of the test itself, which `run` throws. */
  mistake(error: Error): void;
  /** The workers in which the author's code runs, and may do real work. */
  readonly busy: Set<object>;
}

/** A worker for one message. After its death, all its calls and timers stop. */
export class Worker {
  readonly #world: WorkerWorld;
  readonly #track: Track;
  #dead = false;
  /** True when a fault makes time pass until the attempt ends. */
  #hurried = false;
  /** The fault that replaces the author's code. */
  #throws: { error: unknown } | undefined;
  /** Number of the attempt that this worker claimed, over all rounds. Undefined: it has claimed none. */
  #attempt: number | undefined;

  readonly #watch: Watch;

  constructor(world: WorkerWorld, track: Track) {
    this.#world = world;
    this.#track = track;
    this.#watch = {
      track,
      lines: world.lines,
      isAlive: () => !this.#dead,
      attempt: () => this.#attempt ?? 1,
      step: (step, signal) => this.#handlerStep(step, signal),
      mustStart: () => {
        if (this.#throws !== undefined) throw this.#throws.error;
      },
    };
  }

  /** Works on a message, while the kit's time passes. */
  async run(delivery: Delivery): Promise<Verdict | "died"> {
    const { clock, patienceMs, busy } = this.#world;
    const working = onClock(clock, () => this.#work(delivery));
    let ended = false;
    const end = () => {
      ended = true;
    };
    working.then(end, end);
    // A worker that waits for a place, a start or the table waits in the kit's time only.
    const isHurried = () => this.#hurried || busy.size === 0;
    await passTime(clock, patienceMs, { isOver: () => ended || this.#dead, isHurried });
    busy.delete(this);
    return this.#dead ? "died" : working;
  }

  async #work(delivery: Delivery): Promise<Verdict> {
    const seconds = delivery.runsOn === "container" ? containerWorkSeconds : workerTimeoutSeconds;
    const deadlineMs = this.#world.clock.now() + seconds * 1000;
    const [verdict] = await workBatch(this.#ports(), [delivery], deadlineMs);
    return verdict ?? "again";
  }

  #ports(): WorkPorts {
    const { records, queues, oneOffs, families, blobs, blobList, uniqueKeys, lists, once, steps } = this.#world.stores;
    const { stores, flow, random, lines, types, known, newId } = this.#world;
    const entries = this.#stepping(steps, entryStepName);
    const dispatching: EndPorts = {
      clock: this.#clock(),
      records: this.#stepping(records),
      queues: this.#stepping(queues),
      oneOffs: this.#stepping(oneOffs),
      families: this.#stepping(families),
      blobs: this.#stepping(blobs, objectStepName),
      blobList: this.#stepping(blobList, objectStepName),
      notices: stores.notices,
      uniqueKeys: this.#stepping(uniqueKeys, keyStepName),
      lists: this.#stepping(lists, listStepName),
      newId,
      log: lines.port,
      metrics: noMetrics,
      extras: followers(entries),
    };
    return {
      ...dispatching,
      once: this.#stepping(once),
      steps: entries,
      handlerSchedules: handlerSchedules({
        ...{ clock: this.#clock(), log: lines.port, types: known },
        schedules: this.#stepping(stores.schedules, scheduleStepName),
        rules: this.#stepping(stores.rules, ruleStepName),
        checks: this.#stepping(stores.checks, ruleStepName),
      }),
      registry: registry([...types.map((type) => watchedType(type, this.#watch)), this.#cancelsChildren(dispatching)]),
      random,
      disk,
      timeScale: 1,
      tracing: noTracing,
      stackOf: plainStackOf,
      turn,
      loadFollow: async () => follow,
      onLate: (error, { type }) => this.#onLate(error, type),
      watchdog: { guard: () => this.#guard() },
      lines: stores.lines,
      flowSettings: stores.flowSettings,
      flow,
      limiter,
      audit: stores.audit,
      signalUrls: {
        links: stores.signalLinks,
        randomBytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
        apiUrl,
      },
      submitChild: (parent, child, key) => this.#submit(dispatching, parent, child, key),
      createChild: (...given) => this.#spawn({ ...dispatching, types: known }, ...given),
      rejoinChild: rejoinChild({ ...dispatching, types: known }),
    };
  }

  /** The core guards an attempt from the start of its code until its end, with each renewal of its lease anew. */
  #guard(): () => void {
    const { busy } = this.#world;
    busy.add(this);
    return () => busy.delete(this);
  }

  /** An error that a deployment would only log: the test fails with it. */
  #onLate(error: unknown, type: string): void {
    if (this.#dead || this.#hurried) return;
    const place = firstPlaceIn(stackText(error, (place) => place));
    const { message } = describeError(error);
    const at = place === undefined ? "" : ` at ${place}`;
    const what = `The code of ${type} failed after its attempt had ended, so that a deployment only logs it: ${message}${at}`;
    this.#world.mistake(new Error(`${what}. Is an await missing?`, { cause: error }));
  }

  /** Offload's own type that cancels the children of a cancelled parent. */
  #cancelsChildren(ports: EndPorts): TaskType {
    const { known } = this.#world;
    return defineTask({
      ...internalOptions.cancelChildren,
      handler: async (parent) => ({ cancelled: await cancelChildren({ ...ports, types: known }, parent) }),
    });
  }

  #clock(): Clock {
    const { clock } = this.#world;
    return {
      now: () => clock.now(),
      after: (delayMs, call) =>
        clock.after(delayMs, () => {
          if (!this.#dead) call();
        }),
    };
  }

  /** Wraps a port so that each of its calls is a step, at which a fault can happen. */
  #stepping<Port extends object>(port: Port, nameOf = stepName): Port {
    return new Proxy(port, {
      get: (target, method) => {
        const call: unknown = Reflect.get(target, method);
        if (typeof call !== "function") return call;
        return (...given: unknown[]) => this.#step(nameOf(String(method), given), () => call.apply(target, given));
      },
    });
  }

  async #step<T>(name: string, call: () => Promise<T>): Promise<T> {
    if (this.#dead) return never();
    const claims = name === "claim";
    const attempt = claims ? this.#nextAttempt() : this.#attempt;
    if (attempt === undefined) return call();
    const step = this.#track.nextStep(attempt, name, this.#world.clock.now());
    // A claim is a step of the attempt only after it has succeeded.
    if (!claims) this.#track.stepsOf(attempt).push(step);
    const how = step.fault?.how;
    if (how === "refuse") {
      step.name = `${name}: refused`;
      throw unavailable(name);
    }
    const answer = await call();
    if (claims && !this.#claimed(answer, attempt, step)) return answer;
    if (name === suspendStep && (answer as { done: boolean }).done) this.#track.suspended = true;
    if (how === "lose") throw unavailable(name);
    if (step.fault?.how === "throw") this.#throwAt(name, step.fault);
    await this.#applyFault(how);
    return this.#dead ? never() : answer;
  }

  #nextAttempt(): number {
    const { started, suspended } = this.#track;
    return suspended ? started : started + 1;
  }

  #claimed(answer: unknown, attempt: number, step: Step): boolean {
    if (!(answer as { done: boolean }).done) {
      if (step.fault !== undefined) this.#track.faults.giveBack(step.fault);
      return false;
    }
    this.#track.started = attempt;
    this.#track.suspended = false;
    this.#track.stepsOf(attempt).push(step);
    this.#attempt = attempt;
    return true;
  }

  /**
   * A step of the handler itself. Undefined when nothing happens there, so that calls start as early as without the
   * kit.
   */
  #handlerStep({ name, fields }: HandlerStep, signal: AbortSignal): Promise<void> | undefined {
    if (this.#dead) return never();
    if (this.#attempt === undefined) return undefined;
    const step = { ...this.#track.nextStep(this.#attempt, name, this.#world.clock.now()), fields };
    this.#track.stepsOf(this.#attempt).push(step);
    const { fault } = step;
    if (fault === undefined) return undefined;
    const { how } = fault;
    if (how === "refuse" || how === "lose") {
      const why = "which is not a call to the table, a queue or the scheduler";
      this.#world.mistake(new RangeError(`The fault ${how} cannot happen at the step "${name}", ${why}.`));
      return undefined;
    }
    if (how === "throw" && isAwaited(name)) return Promise.reject(fault.error);
    if (how === "throw") this.#throwAt(name, fault);
    const applied = this.#applyFault(how);
    return applied.then(() => (this.#dead ? never() : how === "timeout" ? aborted(signal) : undefined));
  }

  /** Makes the author's code throw at its start, which is possible after the claim only. */
  #throwAt(name: string, { error }: { error: unknown }): void {
    if (name === "claim") this.#throws = { error };
    else {
      const where = "at claim and at steps that the handler awaits";
      this.#world.mistake(new RangeError(`The fault throw cannot happen at the step "${name}": it can ${where}.`));
    }
  }

  async #applyFault(how: Fault["how"] | undefined): Promise<void> {
    if (how === "crash") this.#dead = true;
    if (how === "cancel") await this.#world.cancel(this.#track.key);
    if (how === "cancel" || how === "timeout") this.#hurried = true;
  }

  /** Spawns a child. The kit must have its type, as the parent waits for its end. */
  async #spawn(ports: SubmitPorts & EndPorts, ...given: Parameters<WorkPorts["createChild"]>): Promise<TaskRecord> {
    const [parent, { type, input }, stored] = given;
    const key = shownKey(stored);
    if (!ports.types.has(type)) {
      const what = `The type ${parent.type} spawns children of the type ${type}, which the kit does not have`;
      this.#world.mistake(new RangeError(`${what}: pass both to testKit([...]).`));
    }
    const taskId = spawnedId(parent, stored);
    // A later spawn under the key of an existing child does not change that child.
    const exists =
      (await this.#world.stores.records.get({ tenant_id: parent.tenant_id, task_id: taskId })) !== undefined;
    if (!exists) this.#track.spawned.set(taskId, { taskId, key, type, input });
    this.#world.childTrack(this.#track, taskId, key);
    if (!exists) this.#world.follow(this.#track, taskId, type);
    return spawnChild(ports)(...given);
  }

  /** Submits a child. If the kit does not have the child's type, it stores only that the child was submitted. */
  async #submit(ports: EndPorts, parent: TaskRecord, child: ChildSubmit, key: string): Promise<string> {
    const { known } = this.#world;
    const taskId = known.has(child.type)
      ? await submitChild({
          ...{ ...(this.#track.lineage.follow ? ports : withoutMessages(ports)), types: known, submitUnique },
          supersede: (...given) => supersede(ports, ...given),
        })(parent, child, key)
      : await this.#step(`submit ${child.type}`, async () => taskIdOf(parent.tenant_id, parent.task_id, key));
    if (!this.#track.submitted.has(taskId)) this.#world.follow(this.#track, taskId, child.type);
    this.#track.submitted.set(taskId, { ...child, taskId });
    return taskId;
  }
}

/** Ports with which a submit stores all but its message: the task never starts. */
const withoutMessages = (ports: EndPorts): EndPorts => ({
  ...ports,
  queues: silent(ports.queues, "send"),
  oneOffs: silent(ports.oneOffs, "create"),
});

/** A port whose one call does nothing. */
const silent = <Port extends object>(port: Port, name: keyof Port): Port =>
  new Proxy(port, { get: (target, called) => (called === name ? async () => {} : Reflect.get(target, called)) });

/** False for a call that the handler does not await. */
const isAwaited = (step: string) => !/^task\.(progress|log)\b/.test(step);

const unavailable = (step: string) => new PortUnavailable(`the call in the step "${step}"`);
