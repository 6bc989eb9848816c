import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { messageAttributes, workerTimeoutSeconds } from "../../settings/config.ts";
import { movedMs } from "../time/moved-time.ts";
import { growMs, growth } from "./growth.ts";
import { howItEnded, lineOfEnd, passOnErrorOutput, taskIn } from "./worker-end.ts";
import { forkWorker } from "./worker-fork.ts";
import type { Begin, End, Invocation, Reply } from "./worker-process.ts";

/**
 * Time-out of an invocation in a process with a debugger, in milliseconds. SQS hides a message for at most 12 hours.
 */
const debuggedMs = 11 * 3_600_000;

/** Batches on which one process works at the same time, at most. All but one only go on with tasks of lines. */
const maxBatches = 3;

/** A process that ends itself has this time for it, in milliseconds: the time of its last flush, and of its stop. */
const endMs = 5_000;

/** A process without work is ended after this time, except the last process of its tier. */
const idleMs = 20_000;

export interface PoolOptions {
  /** Environment variables of a new process, added to those that workers always get from this process. */
  env(): Record<string, string>;
  maxProcesses: number;
  /** Port of the debugger in the tier's only process. Undefined: no debugger. */
  inspectPort?: number | undefined;
  /**
   * Folder of a worker as it would be deployed: its processes start there, as on Lambda. Undefined: this installation's
   * worker.
   */
  workerFolder?: string | undefined;
  /** Called with a log line when a process ended that was working or starting. */
  onExit(message: string): void;
  /** Called with the name of a variable that a handler read and does not have. */
  onUndeclared?(name: string): void;
}

/** A batch on which a process works. */
interface Batch {
  /** Types and ids of its tasks. */
  tasks: string[];
  /** True when each of its messages has its verdict: the process goes on with tasks of lines. */
  decided: boolean;
  /** Ends the invocation. */
  finish(answer: SQSBatchResponse | Error): void;
}

interface Slot {
  process: ChildProcess;
  ready: boolean;
  /** By the ids of their invocations. */
  batches: Map<number, Batch>;
  /** True when it has old code, or must end: it gets no more batches, and ends after its present batch. */
  retired: boolean;
  /**
   * True when it must end: an exception was not caught, or an attempt in it goes on after its cancel. Its code may
   * ignore signals.
   */
  worn: boolean;
  /** True when it ends itself, as `tasks/process.ts` says. */
  endsItself: boolean;
  /** Called when it is ready, or with false when it did not start. */
  started?: ((ready: boolean) => void) | undefined;
  idleSince: number;
}

/**
 * The execution environments of one worker function. Each is a process that works on one batch at a time, and on a
 * further one while the first only goes on with tasks of lines: as many environments as in AWS would cost a laptop more
 * than the tasks. Its death does not affect the other processes.
 */
export class WorkerPool {
  readonly #options: PoolOptions;
  readonly #slots = new Set<Slot>();
  readonly #idleCheck: NodeJS.Timeout;
  #waiting: (() => void)[] = [];
  /** Batches that wait for a process without another one. */
  #waitingAlone = 0;
  #nextId = 1;
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#idleCheck = setInterval(() => this.#endIdle(), 5_000).unref();
  }

  /** Starts a process before the first batch comes. */
  warm(): void {
    if (this.#slots.size === 0) this.#spawn();
  }

  /**
   * Replaces the processes by new ones, which load the task files again. Batches that run end on the old code. The old
   * processes stay in service until a new one has started, so they also stay when none can.
   * @param loaded A process that has loaded them already. Default: a new one.
   * @returns True when a new process has started.
   */
  async renew(loaded?: ChildProcess): Promise<boolean> {
    const old = [...this.#slots];
    const retire = () => {
      for (const slot of old) this.#retire(slot);
    };
    // Two processes cannot have one debugger port.
    if (this.#options.inspectPort !== undefined) retire();
    const ready = await new Promise<boolean>((started) => {
      if (loaded === undefined) return this.#spawn(started);
      this.#take(loaded, started);
      loaded.send({ env: this.#options.env() } satisfies Begin);
    });
    if (ready) retire();
    return ready;
  }

  /**
   * Retires the processes at once, and starts a new one when the caller has done its work, if there was one: the start
   * of a process takes some ten milliseconds of this one. A batch waits until it has started.
   */
  restart(): void {
    const old = [...this.#slots];
    for (const slot of old) this.#retire(slot);
    if (old.length > 0) setImmediate(() => this.#spawn());
  }

  /**
   * Resolves when a process is free. Starts another process when all of them stay busy for 150 ms, or for up to 2 s
   * on a busy machine.
   */
  async free(): Promise<void> {
    await this.#slotFor({ alone: false });
  }

  /**
   * Invokes a free process. A task that must run alone gets one without another batch. Rejects when the process dies or
   * exceeds the function's time-out. Call `free` first.
   */
  async invoke(event: SQSEvent): Promise<SQSBatchResponse> {
    const alone = event.Records.some((record) => messageAttributes.solo in record.messageAttributes);
    const slot = this.#free({ alone }) ?? (await this.#slotForAlone());
    if (slot === undefined) throw new Error("no worker process is free");
    const tasks = event.Records.map(({ body }) => taskIn(body));
    const id = this.#nextId++;
    const limitMs = this.#options.inspectPort === undefined ? workerTimeoutSeconds * 1000 : debuggedMs;
    const deadlineMs = Date.now() + limitMs;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => slot.process.kill("SIGKILL"), limitMs).unref();
      const finish = (answer: SQSBatchResponse | Error) => {
        clearTimeout(timer);
        slot.batches.delete(id);
        slot.idleSince = Date.now();
        if (slot.retired && isIdle(slot)) end(slot, slot.worn ? "SIGKILL" : "SIGTERM");
        answer instanceof Error ? reject(answer) : resolve(answer);
        this.#wake();
      };
      slot.batches.set(id, { tasks, decided: false, finish });
      slot.process.send({ id, event, deadlineMs, aheadMs: movedMs() } satisfies Invocation);
    });
  }

  /** True while a process works on a batch. */
  get busy(): boolean {
    return [...this.#slots].some((slot) => !isIdle(slot));
  }

  /** Types and ids of the tasks on which processes work. */
  get tasks(): string[] {
    return [...this.#slots].flatMap(({ batches }) => [...batches.values()].flatMap(({ tasks }) => tasks));
  }

  /** Process ids, for tests that kill processes. */
  get pids(): number[] {
    return [...this.#slots].flatMap((slot) => slot.process.pid ?? []);
  }

  /** Ends all processes: those that do not end themselves at once. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#idleCheck);
    const exits = [...this.#slots].map((slot) => once(slot.process, "exit"));
    for (const slot of this.#slots) end(slot, "SIGKILL");
    this.#wake();
    await Promise.all(exits);
  }

  /** A free process: without a batch, or else with batches that only go on with tasks of lines. */
  #free({ alone }: { alone: boolean }): Slot | undefined {
    const inService = [...this.#slots].filter((slot) => slot.ready && !slot.retired);
    const mayShare = !alone && this.#waitingAlone === 0;
    return inService.find(isIdle) ?? (mayShare ? inService.find(isShareable) : undefined);
  }

  /** Meanwhile no process gets a further batch, so that one becomes free. */
  async #slotForAlone(): Promise<Slot | undefined> {
    this.#waitingAlone += 1;
    return this.#slotFor({ alone: true }).finally(() => {
      this.#waitingAlone -= 1;
    });
  }

  /** Waits for a process. Undefined: the pool was closed. */
  async #slotFor(batch: { alone: boolean }): Promise<Slot | undefined> {
    for (;;) {
      const slot = this.#free(batch);
      if (slot !== undefined || this.#closed) return slot;
      const starting = [...this.#slots].some((one) => !one.ready && !one.retired);
      const stopGrowing = starting || !this.#canGrow() ? undefined : this.#growSoon();
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
      stopGrowing?.();
    }
  }

  /** Retired processes do not count, except where the next process needs the same debugger port. */
  #canGrow(): boolean {
    const { maxProcesses, inspectPort } = this.#options;
    return [...this.#slots].filter((slot) => inspectPort !== undefined || !slot.retired).length < maxProcesses;
  }

  /** Returns a function that keeps another process from being started. */
  #growSoon(): () => void {
    if (this.#slots.size === 0) {
      this.#spawn();
      return () => {};
    }
    const isDue = growth();
    const timer = setInterval(() => {
      if (!isDue()) return;
      clearInterval(timer);
      this.#spawn();
    }, growMs);
    return () => clearInterval(timer);
  }

  #spawn(started?: (ready: boolean) => void): void {
    if (this.#closed) {
      started?.(false);
      return;
    }
    this.#take(forkWorker({ ...this.#options, env: this.#options.env() }), started);
  }

  /** Takes a process into service, when it is ready. */
  #take(child: ChildProcess, started?: (ready: boolean) => void): void {
    const slot: Slot = {
      process: child,
      ready: false,
      batches: new Map(),
      retired: false,
      worn: false,
      endsItself: false,
      idleSince: Date.now(),
      started,
    };
    this.#slots.add(slot);
    const hasErrorOutput = passOnErrorOutput(child);
    child.on("message", (message: Reply) => this.#onMessage(slot, message));
    child.on("error", (error) => finishAll(slot, error));
    child.on("exit", (code, signal) => {
      this.#slots.delete(slot);
      slot.started?.(false);
      const { ready, retired } = slot;
      const end = { code, signal, tasks: [...slot.batches.values()].flatMap(({ tasks }) => tasks) };
      // The reason is in the process's error output, which ends after the process.
      child.once("close", () => {
        const isExpected = ready ? end.tasks.length === 0 : retired;
        if (!this.#closed && !isExpected) this.#options.onExit(lineOfEnd(end, hasErrorOutput()));
      });
      finishAll(slot, new Error(`the worker process died: ${howItEnded(end)}`));
      setTimeout(() => this.#wake(), slot.ready ? 0 : 1_000).unref();
    });
  }

  #onMessage(slot: Slot, message: Reply): void {
    if (message.kind === "ready") {
      slot.ready = true;
      slot.endsItself = message.endsItself;
      slot.started?.(true);
      slot.started = undefined;
      this.#wake();
    } else if (message.kind === "answer") {
      slot.batches.get(message.id)?.finish(message.response);
    } else if (message.kind === "decided") {
      const batch = slot.batches.get(message.id);
      if (batch !== undefined) batch.decided = true;
      this.#wake();
    } else if (message.kind === "worn") {
      slot.worn = true;
      this.#retire(slot);
    } else if (message.kind === "undeclared") {
      this.#options.onUndeclared?.(message.name);
    } else if (message.kind === "error") {
      slot.batches.get(message.id)?.finish(new Error(message.error));
    }
  }

  /** Retires a process: it ends after its present batches. */
  #retire(slot: Slot): void {
    slot.retired = true;
    if (isIdle(slot)) end(slot, "SIGTERM");
  }

  #endIdle(): void {
    const idle = [...this.#slots].filter(
      (slot) => slot.ready && isIdle(slot) && !slot.retired && Date.now() - slot.idleSince > idleMs,
    );
    for (const slot of idle.slice(0, Math.max(0, Math.min(idle.length, this.#slots.size - 1)))) end(slot, "SIGTERM");
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}

const isIdle = ({ batches }: Slot): boolean => batches.size === 0;

const isShareable = ({ batches }: Slot): boolean =>
  batches.size < maxBatches && [...batches.values()].every(({ decided }) => decided);

/** Ends a process by a signal, or lets it end itself where it does. */
function end({ process, endsItself, worn }: Slot, signal: "SIGTERM" | "SIGKILL"): void {
  if (!endsItself || worn) return void process.kill(signal);
  process.send({ end: true } satisfies End, () => {});
  const late = setTimeout(() => process.kill("SIGKILL"), endMs);
  process.once("exit", () => clearTimeout(late));
}

function finishAll({ batches }: Slot, error: Error): void {
  for (const { finish } of [...batches.values()]) finish(error);
}
