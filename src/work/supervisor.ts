import type { ChildProcess } from "node:child_process";
import type { Delivery, Log } from "../core/ports/tasks.ts";
import { longestTimeoutSeconds } from "../core/task/type-options.ts";
import type { Order, Report, Role } from "./messages.ts";

/**
 * A process that ended sooner than this after its start, in milliseconds, makes the pause before the next start longer.
 */
const healthyMs = 30_000;

/** Pauses before a process is started again, in milliseconds: none after a long life, then growing. */
const [firstPauseMs, longestPauseMs] = [500, 30_000];

/** Time in milliseconds after the drain in which a process writes the ends of its attempts. Then it is killed. */
const settleMs = 45_000;

/** The process for tasks that run alone ends when it had none for this time, in milliseconds. */
const idleMs = 60_000;

/** A process that has not reported for this time, in milliseconds, is stalled. */
const silentMs = 120_000;

/** Attempts of a process that is replaced may go on for this time, in seconds: the longest attempt. */
const longestAttemptSeconds = longestTimeoutSeconds.container;

export interface SupervisorOptions {
  /** Starts a process. It must call `runProcess`. */
  fork(role: Role): ChildProcess;
  log: Log;
}

/** State of a container worker, as its health answer shows it. */
export interface WorkState {
  status: "starting" | "ok" | "draining" | "stalled";
  running: number;
}

interface Child {
  process: ChildProcess;
  startedAt: number;
  ready: boolean;
  reportedAt: number;
  running: number;
  stalled: boolean;
}

/** A message that runs in the process for tasks that run alone, and the process that sent it. */
interface Alone {
  id: number;
  delivery: Delivery;
  from: ChildProcess;
}

/**
 * Keeps the processes of a container worker: handlers run in them, and may end them. The death of one costs the
 * attempts that ran in it, and it is started again.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #children = new Set<ChildProcess>();
  readonly #ended: Promise<number>;
  #end: (exitCode: number) => void = () => {};
  #all: Child | undefined;
  /** Processes that take no task any more, and end with their last attempt. */
  readonly #old = new Set<Child>();
  #aloneProcess: ChildProcess | undefined;
  #waiting: Alone[] = [];
  #current: Alone | undefined;
  #idle: NodeJS.Timeout | undefined;
  #restart: NodeJS.Timeout | undefined;
  #pauseMs = firstPauseMs;
  #wasReady = false;
  #stopping = false;
  #exitCode = 0;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  get state(): WorkState {
    const { running = 0, ready = false, stalled = false, reportedAt = 0 } = this.#all ?? {};
    const old = [...this.#old].reduce((sum, child) => sum + child.running, 0);
    const all = running + old + (this.#current === undefined ? 0 : 1);
    if (this.#stopping) return { status: "draining", running: all };
    if (!ready) return { status: "starting", running: all };
    return { status: stalled || Date.now() - reportedAt > silentMs ? "stalled" : "ok", running: all };
  }

  /** Process ids, for tests that kill processes. */
  get pids(): number[] {
    return [...this.#children].flatMap(({ pid }) => pid ?? []);
  }

  /** Starts the worker. Resolves with an exit code when it was stopped, or when its first process could not start. */
  run(): Promise<number> {
    this.#startAll();
    return this.#ended;
  }

  /**
   * Starts a new process with the present code and environment. The present one takes no task any more, and ends with
   * its last attempt.
   */
  renew(drainSeconds: number): void {
    if (this.#stopping) return;
    this.#retireAlone(drainSeconds);
    this.#retireAll(drainSeconds);
  }

  #retireAll(drainSeconds: number): void {
    const old = this.#all;
    this.#startAll();
    if (old === undefined) return;
    this.#old.add(old);
    order(old.process, { kind: "stop", drainSeconds });
  }

  /** The next task that runs alone starts a new process. */
  #retireAlone(drainSeconds: number): void {
    const old = this.#aloneProcess;
    this.#aloneProcess = undefined;
    if (old !== undefined) order(old, { kind: "stop", drainSeconds });
  }

  /** Starts no task any more. What still runs after the given seconds is given back. */
  stop(drainSeconds: number): void {
    this.#stopping = true;
    clearTimeout(this.#restart);
    for (const child of this.#children) order(child, { kind: "stop", drainSeconds });
    setTimeout(() => this.#killLate(), drainSeconds * 1000 + settleMs).unref();
    this.#endWhenEmpty();
  }

  /** Ends all processes immediately. Their attempts count as crashed when their leases end. */
  kill(): void {
    this.#stopping = true;
    this.#exitCode = 1;
    clearTimeout(this.#restart);
    for (const child of this.#children) child.kill("SIGKILL");
    this.#endWhenEmpty();
  }

  #killLate(): void {
    if (this.#children.size === 0) return;
    this.#options.log.error("a process of the worker did not end after its drain time; it is killed");
    this.kill();
  }

  #startAll(): void {
    const process = this.#fork("all");
    const now = Date.now();
    const child: Child = { process, startedAt: now, ready: false, reportedAt: now, running: 0, stalled: false };
    this.#all = child;
    process.on("message", (report: Report) => this.#onReport(child, report));
    process.on("exit", (code, signal) => {
      this.#old.delete(child);
      if (this.#all === child) this.#onExit(child, howEnded(code, signal));
    });
  }

  #fork(role: Role): ChildProcess {
    const process = this.#options.fork(role);
    this.#children.add(process);
    process.on("error", () => {});
    process.on("exit", (code) => {
      this.#children.delete(process);
      if (this.#stopping && code !== 0) this.#exitCode = 1;
      this.#endWhenEmpty();
    });
    return process;
  }

  #onReport(child: Child, report: Report): void {
    child.reportedAt = Date.now();
    if (report.kind === "ready") {
      child.ready = true;
      this.#wasReady = true;
    }
    if (report.kind === "state") Object.assign(child, { running: report.running, stalled: report.stalled });
    if (report.kind === "worn" && this.#all === child && !this.#stopping) this.#retireAll(longestAttemptSeconds);
    if (report.kind === "alone") {
      this.#waiting.push({ ...report, from: child.process });
      this.#runNext();
    }
  }

  #onExit(child: Child, how: string): void {
    if (this.#stopping) return;
    const { log } = this.#options;
    if (!this.#wasReady) {
      log.error("the worker could not start", { how });
      this.#exitCode = 1;
      this.#stopping = true;
      this.#endWhenEmpty();
      return;
    }
    if (Date.now() - child.startedAt > healthyMs) this.#pauseMs = firstPauseMs;
    const pause_ms = this.#pauseMs;
    this.#pauseMs = Math.min(longestPauseMs, this.#pauseMs * 2);
    child.ready = false;
    log.error(
      "a process of the worker died; its attempts count as crashed when their leases end. It is started again",
      {
        how,
        running: child.running,
        pause_ms,
      },
    );
    this.#restart = setTimeout(() => this.#startAll(), pause_ms);
  }

  /** Sends the next message to the process for tasks that run alone, and starts that process if there is none. */
  #runNext(): void {
    if (this.#current !== undefined) return;
    this.#current = this.#waiting.shift();
    clearTimeout(this.#idle);
    const alone = this.#aloneProcess ?? (this.#current === undefined ? undefined : this.#startAlone());
    if (this.#current === undefined) {
      this.#idle = setTimeout(() => alone && order(alone, { kind: "stop", drainSeconds: 0 }), idleMs).unref();
    } else if (alone !== undefined) {
      const { id, delivery } = this.#current;
      order(alone, { kind: "run", id, delivery });
    }
  }

  #startAlone(): ChildProcess {
    const process = this.#fork("alone");
    this.#aloneProcess = process;
    const ended = () => {
      const { id, from } = this.#current ?? {};
      this.#current = undefined;
      if (id !== undefined && from !== undefined) order(from, { kind: "ended", id });
      if (!this.#stopping) this.#runNext();
    };
    process.on("message", (report: Report) => {
      if (report.kind === "ended") ended();
      if (report.kind === "worn" && this.#aloneProcess === process) this.#retireAlone(longestAttemptSeconds);
    });
    process.on("exit", (code, signal) => {
      if (this.#aloneProcess === process) this.#aloneProcess = undefined;
      if (code !== 0 && !this.#stopping)
        this.#options.log.warn("a task that ran alone ended its process", { how: howEnded(code, signal) });
      if (this.#current !== undefined) ended();
    });
    return process;
  }

  #endWhenEmpty(): void {
    if (this.#stopping && this.#children.size === 0) this.#end(this.#exitCode);
  }
}

const howEnded = (code: number | null, signal: NodeJS.Signals | null): string =>
  signal === null ? `exit code ${code}` : `signal ${signal}`;

/** A process that is ending gets no order any more. */
function order(process: ChildProcess, order: Order): void {
  if (process.connected) process.send(order, () => {});
}
