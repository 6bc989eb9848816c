import type { Attempt } from "../../src/core/model/record.ts";
import type { OnceStore } from "../../src/core/ports/tasks.ts";
import type { TaskContext } from "../../src/core/task/context.ts";
import { InterruptLaws } from "./interrupts.ts";
import type { Invocation } from "./invocation.ts";
import type { Life, Lives, Watched } from "./lives.ts";
import type { UniqueLaws } from "./unique-laws.ts";

/** One execution of a handler. */
export interface Run {
  from: Invocation;
  task: TaskContext;
  life: Life | undefined;
  /** Number of its round. */
  round: number;
  /** Time of its claim, in epoch milliseconds. */
  claimedAt: number;
  /** When its time is over, in epoch milliseconds. */
  untilMs: number;
  /** The handler returned or threw. */
  ended: boolean;
  /** True when the handler returned or threw, also after the end of its attempt. */
  over: boolean;
  /** True while it is in a call that the end of its attempt never answers, or the loser of its race is. */
  calls?: boolean;
  /** True: a client asked to cancel it now. Absent: none did. */
  cancelledNow?: boolean;
  /** Message of the first error that its code threw. Absent: none. */
  thrown?: string;
}

/** One side effect that must happen once. */
interface Effect {
  from: Invocation;
  run: Run | undefined;
  value: number;
}

/** Calls of a handler that its context refuses when its attempt is over. */
const closedCalls = ["submit", "once", "step", "nap", "wait", "together", "pages"];

/** The contract's bound between a cancellation and its signal, in milliseconds. */
const abortWithinMs = 5000;

/** What handlers did, and what they may do. */
export class Runs {
  /** How many handlers started. */
  count = 0;
  readonly #watched: Watched;
  readonly #lives: Lives;
  readonly #unique: UniqueLaws;
  readonly #interrupts: InterruptLaws;
  readonly #byTask = new Map<string, Run[]>();
  readonly #effects = new Map<string, { effects: Effect[]; stored: unknown }>();

  constructor(watched: Watched, lives: Lives, unique: UniqueLaws) {
    this.#unique = unique;
    this.#watched = watched;
    this.#interrupts = new InterruptLaws(watched, lives);
    this.#lives = lives;
  }

  start(from: Invocation, task: TaskContext, input: unknown, timeoutSeconds: number): Run {
    this.count += 1;
    const life = this.#lives.life(task.taskId);
    const broken = (text: string) => this.#lives.violated(text, task.taskId);
    const claim = life?.claims.find(({ total }) => total === task.attemptOverall);
    if (life?.tenantId !== task.tenantId) broken(`promise 6: its handler runs for the tenant ${task.tenantId}`);
    if (claim?.by !== from || claim.number !== task.attempt)
      broken(`promise 2: ${from.name} runs an attempt that it did not claim`);
    if (claim !== undefined && Date.parse(claim.leaseUntil) <= this.#watched.time.now + from.skewMs) {
      broken(`promise 2: ${from.name} starts the handler after the end of its lease`);
    }
    if (claim !== undefined) claim.started = true;
    if (life?.cancelled) broken("a cancelled task runs");
    this.#aloneLaw(from, claim?.alone === true, broken);
    // The attempt that aggregates gets no input.
    if (life !== undefined && this.#unique.watches(task.taskId, life.createdAt))
      this.#unique.started(task.taskId, life.createdAt, input);
    else if (life?.input !== undefined && input !== undefined && life.input !== JSON.stringify(input))
      broken("it runs with the input of another request");
    const runs = this.#byTask.get(task.taskId) ?? [];
    this.#leaseLaws(from, task, runs, broken);
    const nowMs = this.#watched.time.now;
    const claimedAt = claim?.at ?? nowMs;
    const round = claim?.round ?? 0;
    const run = {
      from,
      task,
      life,
      round,
      claimedAt,
      untilMs: nowMs + timeoutSeconds * 1000,
      ended: false,
      over: false,
    };
    this.#interrupts.started(from, task.taskId);
    runs.push(run);
    this.#byTask.set(task.taskId, runs);
    return run;
  }

  /** One attempt at a time, and only under its lease. */
  #leaseLaws(from: Invocation, task: TaskContext, runs: readonly Run[], broken: (text: string) => void): void {
    if (!from.process.stood && !this.#leaseHolds(task))
      broken(`promise 2: ${from.name} starts the handler without a lease`);
    for (const other of runs) {
      if (this.#isOpen(other) && !other.from.process.stood)
        broken(`promise 2: ${other.from.name} is still at work, and ${from.name} starts`);
    }
  }

  /** A task whose last attempt crashed runs alone: beside no other handler of its invocation. */
  #aloneLaw(from: Invocation, alone: boolean, broken: (text: string) => void): void {
    if (from.process.stood) return;
    const open = [...this.#byTask.values()].flat().filter((run) => run.from === from && this.#isOpen(run));
    const others = open.filter(({ task }) => alone || this.#claimOf(task)?.alone === true);
    if (others.length > 0) broken(`a task that must run alone runs beside another in ${from.name}`);
  }

  #claimOf(task: TaskContext) {
    return this.#lives.life(task.taskId)?.claims.find(({ total }) => total === task.attemptOverall);
  }

  /** The first error that a handler's code has thrown while its attempt was open. */
  threw(run: Run, error: unknown): void {
    if (this.#isOpen(run)) run.thrown ??= String((error as { message?: unknown })?.message);
  }

  /** An attempt whose code threw in time has not timed out, and says what its own code threw. */
  failed(taskId: string, total: number, { outcome, error = "" }: Pick<Attempt, "outcome" | "error">): void {
    if (outcome !== "failed" && outcome !== "retried" && outcome !== "timed_out") return;
    // A task that was purged may have had the same id.
    const present = this.#lives.life(taskId);
    const run = this.#byTask.get(taskId)?.find(({ task, life }) => life === present && task.attemptOverall === total);
    if (run?.thrown === undefined || run.from.process.stood || error.startsWith(run.thrown.slice(0, 400))) return;
    this.#lives.violated(`its attempt says ${error}, and its code threw ${run.thrown}`, taskId);
  }

  /** The handler of an attempt, by its number over all rounds. */
  of(taskId: string, total: number): Run | undefined {
    const present = this.#lives.life(taskId);
    return this.#byTask.get(taskId)?.find(({ task, life }) => life === present && task.attemptOverall === total);
  }

  end(run: Run): void {
    run.ended = true;
    run.over = true;
  }

  /** The worker of an attempt has settled it. A suspended handler never returns. */
  settled(taskId: string, total: number): void {
    for (const run of this.#byTask.get(taskId) ?? []) if (run.task.attemptOverall === total) run.ended = true;
  }

  /** Takes one step of a run. The ambient context stays its own, and once its attempt is over it can do nothing any more. */
  async watch(run: Run, what: string, take: () => Promise<void>): Promise<void> {
    const { task, from } = run;
    const isPast = this.#watched.time.now > run.untilMs || this.#hasEndedIt(task);
    const over = isPast && !from.process.stood;
    await take();
    const broken = (text: string) => this.#lives.violated(text, task.taskId);
    const ambient = this.#watched.core.ambient.currentTask();
    // An attempt that is ended with its process is over before its end is stored, and so is one whose end could not be stored.
    const mayBeOver = from.interrupted || from.answered || from.process.stood || run.cancelledNow;
    const isOver = !this.#isOpen(run) || (task.signal.aborted && mayBeOver);
    if (ambient !== task && (ambient !== undefined || !isOver)) broken("promise 6: not its own context");
    if (over && closedCalls.includes(what)) broken(`promise 2: its attempt in ${from.name} was over and could ${what}`);
  }

  /** A client asked for an end: the signal must fire in time, unless there was trouble in this very invocation. */
  cancelAsked(taskId: string, total: number): void {
    const { time } = this.#watched;
    const askedAt = time.now;
    const run = this.#byTask.get(taskId)?.find(({ task }) => task.attemptOverall === total);
    if (run === undefined) return;
    time.after(abortWithinMs, () => {
      const excused = run.from.troubledUntil >= askedAt || run.from.process.stood;
      if (this.#isOpen(run) && !run.task.signal.aborted && !excused)
        this.#lives.violated("no abort within 5 s", taskId);
    });
  }

  /** A client asked for an end now. */
  cancelledNow(taskId: string, total: number): void {
    const run = this.#byTask.get(taskId)?.find(({ task }) => task.attemptOverall === total);
    if (run !== undefined) run.cancelledNow = true;
    this.#interrupts.asked(run, taskId);
  }

  /** Does the side effect, and says when it should not have been done. */
  effect(from: Invocation, task: TaskContext, key: string): number {
    const ledger = this.#ledger(task, key);
    const run = this.#byTask.get(task.taskId)?.find((one) => one.from === from && one.task === task);
    const mayRepeat = isExcused(from) || run === undefined || !this.#isOpen(run);
    const others = ledger.effects.filter((other) => !isExcused(other.from) && other.from.process.alive);
    if (ledger.stored !== undefined && !mayRepeat)
      this.#lives.violated(`once: ${key} happened again after its outcome was stored`, task.taskId);
    const unexcused = others.some((other) => other.run === undefined || this.#isOpen(other.run));
    if (unexcused && !mayRepeat)
      this.#lives.violated(`once: ${key} happened twice with nothing to excuse it`, task.taskId);
    const value = ledger.effects.length + 1;
    ledger.effects.push({ from, run, value });
    return value;
  }

  onceStored({ tenantId, key, value: kept, fault }: Parameters<OnceStore["finish"]>[0]): void {
    const value = fault ?? kept;
    const ledger = this.#effects.get(`${tenantId}/${key}`);
    if (ledger === undefined || ledger.stored !== undefined)
      this.#lives.violated(`once: ${key} was stored without need`);
    else ledger.stored = value;
  }

  onceAnswered(task: TaskContext, key: string, value: unknown): void {
    const ledger = this.#ledger(task, key);
    if (ledger.stored !== value)
      this.#lives.violated(`once: ${key} gave ${String(value)}, not ${String(ledger.stored)}`, task.taskId);
  }

  /** An effect was done, and the handler was told that its outcome cannot be stored: no other call may do it again. */
  unkept(task: TaskContext, key: string): void {
    if (this.#ledger(task, key).stored === undefined)
      this.#lives.violated(`once: ${key} was done, and is not stored as done`, task.taskId);
  }

  /** The same submit of the same handler is the same child, in every attempt. */
  childAccepted(parentId: string, place: number, taskId: string): void {
    const children = this.#lives.life(parentId)?.children;
    if ((children?.get(place) ?? taskId) !== taskId)
      this.#lives.violated("one submit of a handler made two tasks", taskId);
    children?.set(place, taskId);
  }

  #ledger(task: TaskContext, key: string) {
    const id = `${task.tenantId}/${key}`;
    const ledger = this.#effects.get(id) ?? { effects: [], stored: undefined };
    this.#effects.set(id, ledger);
    return ledger;
  }

  #leaseHolds(task: TaskContext): boolean {
    const record = this.#watched.table.read({ tenant_id: task.tenantId, task_id: task.taskId });
    const nowIso = this.#watched.core.record.iso(this.#watched.time.now - 400);
    return (
      record?.status === "processing" &&
      record.attempts_total === task.attemptOverall &&
      (record.lease_until ?? "") > nowIso
    );
  }

  /**
   * True where Offload has ended the attempt, as where its own parts failed, or its code threw where nobody could catch it. Its end is stored
   * later, or by another worker where the table is down for so long.
   */
  #hasEndedIt({ signal }: TaskContext): boolean {
    return signal.aborted && !(signal.reason instanceof this.#watched.core.errors.AttemptCancelled);
  }

  /** Whether the attempt may still do something under its lease. */
  #isOpen({ from, task, untilMs, ended }: Run): boolean {
    return !ended && !this.#hasEndedIt(task) && from.process.alive && this.#watched.time.now < untilMs;
  }
}

const isExcused = (from: Invocation): boolean => from.process.stood || from.troubledUntil > 0;
