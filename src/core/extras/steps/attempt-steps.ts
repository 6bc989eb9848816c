import { PermanentError } from "../../model/errors.ts";
import { taskIdOf } from "../../model/idempotency.ts";
import { iso, longestQueueLifeSeconds, type TaskRecord } from "../../model/record.ts";
import type { Suspension } from "../../model/suspension.ts";
import { keepEntries, keepReadEntries, newEntryPurgeAt, outlivesNewEntries } from "../../pipeline/send/keep-entries.ts";
import type { StepEntry, StoredEntry } from "../../ports/steps.ts";
import { asOwnWork, mustBeOutside, runWithin } from "../../task/ambient.ts";
import { type KeptText, keptIn, keptText, mustBeKept } from "../../task/json-value.ts";
import { runInStep } from "../../task/numbering.ts";
import { type Call, checkedStepName, entryOf, inWords, keyOf, type StepAttempt } from "../../task/step-calls.ts";
import type { TaskType } from "../../task/task.ts";
import { Checkpoints } from "./checkpoints.ts";
import { type OpenWait, Rest } from "./rest.ts";
import type { CallKind, Caused, StepPorts, StepTools, Tries } from "./step-tools.ts";
import { Waits } from "./waits.ts";

/** Most steps, sleeps and waits of one task: an attempt reads them all. */
export const maxCalls = 1_000;

/**
 * Most bytes of all stored results of one task's steps, as JSON: an attempt has them in memory, in a process that other
 * tenants' attempts share. Also what an attempt after a sleep or a failure reads, at most: 4,096 read units.
 */
export const maxResultBytes = 16 * 1024 * 1024;

/** Orders of the calls of `aggregate` follow those of the handler, in each round. */
const roundOrders = 10_000;

/**
 * The steps, sleeps, waits and checkpoints of one attempt. Nothing is read or written before the handler's first call.
 *
 * An entry is stored once and for all: of two attempts that run at the same time, because one of them has lost its
 * lease, both go on with the entry that was stored first.
 */
export class AttemptSteps implements StepTools {
  /** Decides when the attempt is suspended. */
  readonly rest: Rest;
  /** Resolves when the attempt is suspended; otherwise never. */
  readonly suspended: Promise<Suspension>;
  readonly ports: StepPorts;
  readonly record: TaskRecord;
  readonly type: TaskType;
  readonly waits: Waits = new Waits(this);
  readonly checkpoints: Checkpoints;
  readonly #caused: Caused;
  readonly #prefix: string;
  readonly #firstOrder: number;
  #entries: Promise<Map<string, StoredEntry>> | undefined;
  readonly #called = new Set<string>();
  #calls = 0;
  /** Calls under way, those that wait included. */
  #open = 0;
  /** True when a step has had tries of its own in an earlier attempt. */
  #hasTries = false;
  /** Bytes of the results that are stored, as far as the attempt knows. */
  #resultBytes = 0;
  #sequential = true;
  readonly #effects = new Set<string>();
  #suspend!: (suspension: Suspension) => void;
  #fail!: (error: unknown) => void;

  /**
   * @param caused What the attempt spawns and submits.
   * @param aggregates True for the attempt that aggregates: its calls are its own in each round, as the children's
   * results may differ.
   */
  constructor(ports: StepPorts, record: TaskRecord, type: TaskType, caused: Caused, aggregates: boolean) {
    this.ports = ports;
    this.#caused = caused;
    this.record = record;
    this.#prefix = aggregates ? `aggregate ${record.round}: ` : "";
    this.#firstOrder = aggregates ? record.round * roundOrders : 0;
    this.type = type;
    this.checkpoints = new Checkpoints(this, caused);
    this.suspended = new Promise((resolve, reject) => {
      this.#suspend = resolve;
      this.#fail = reject;
    });
    this.rest = new Rest(ports, (waits, continues) => {
      void this.#suspension(waits, continues).then(this.#suspend, this.#fail);
    });
    // It is observed only while the handler runs.
    this.suspended.catch(() => {});
  }

  /**
   * @param signal The attempt's.
   * @param tries Options of the step, and what its tries need. Undefined: a failure is the attempt's.
   */
  async step<T>(
    name: string,
    run: (idempotencyKey: string, attempt: StepAttempt) => Promise<T> | T,
    signal: AbortSignal,
    tries?: Tries,
  ): Promise<T> {
    const runStep = async (call: Call, stored: StepEntry | undefined): Promise<T> => {
      const what = inWords(call);
      if (stored !== undefined) {
        const kept = keptIn(stored);
        // Each call is made once, and the process has the attempts of other tenants, too.
        delete stored.value;
        return mustBeKept(kept, what) as T;
      }
      const { tenant_id, task_id, created_at } = this.record;
      const idempotencyKey = taskIdOf(tenant_id, "step", JSON.stringify([task_id, created_at, call.name]));
      const made = (attempt: StepAttempt) =>
        runWithin({ kind: "step", name }, async () => run(idempotencyKey, attempt));
      if (tries !== undefined || this.#hasTries) {
        const { tried } = await import("./tries.ts");
        return (await tried(this, call, { run: made, signal, ...tries })) as T;
      }
      return (await this.plainStep(call, () => made({ attempt: 1, signal }))) as T;
    };
    // Code that goes on beside a step that may wait is followed from the start.
    return this.call("step", checkedStepName(name), runStep, tries !== undefined);
  }

  /** Runs a step whose failure is the attempt's. */
  async plainStep(call: Call, made: () => Promise<unknown>): Promise<unknown> {
    const what = inWords(call);
    const kept = this.kept(await this.effect(call, made), what);
    const first = await this.add({ ...call, ...kept });
    return mustBeKept(keptIn(first), what);
  }

  /** The name of a call as the handler gave it. */
  ownName({ name }: Call): string {
    return name.slice(this.#prefix.length);
  }

  /** The result of a step as it is stored. */
  kept(value: unknown, what: string): Pick<StepEntry, "value" | "fault"> {
    const { text, fault } = this.#fitting(keptText(value, what), what);
    return { ...(text !== undefined && { value: text }), ...(fault && { fault }) };
  }

  /**
   * The result of a step if all results together are small enough; otherwise its fault. The effect was done all the
   * same.
   */
  #fitting(kept: KeptText, what: string): KeptText {
    this.#resultBytes += Buffer.byteLength(kept.text ?? "");
    if (this.#resultBytes <= maxResultBytes) return kept;
    const fault = `the results of the task's steps have more than ${maxResultBytes} bytes (16 MiB) with that of ${what}: keep large values in a bucket, and return their keys`;
    return { text: undefined, fault };
  }

  /** Runs the function of a step. */
  async effect<T>({ name }: Call, made: () => Promise<T> | T): Promise<T> {
    this.#effects.add(name);
    try {
      return await runInStep(name, made);
    } finally {
      this.#effects.delete(name);
    }
  }

  async continueLater(): Promise<never> {
    mustBeOutside("task.continueLater");
    this.rest.continueLater();
    return new Promise<never>(() => {});
  }

  /** Names of the steps whose functions have neither returned nor failed. */
  get underWay(): readonly string[] {
    return [...this.#effects];
  }

  /** Runs a call of the handler with its entry from an earlier attempt, if there is one. */
  async call<T>(
    kind: CallKind,
    name: string,
    run: (call: Call, stored: StepEntry | undefined) => Promise<T>,
    mayWait = kind !== "step",
  ): Promise<T> {
    const call = this.#begin(kind, name, mayWait);
    try {
      const stored = await this.stored();
      // Only the function of a step is the code's, and it ends with its call.
      return await asOwnWork(() => run(call, entryOf(call, stored)));
    } finally {
      await this.rest.ready();
      this.#open -= 1;
      this.rest.end(mayWait);
    }
  }

  #begin(kind: CallKind, own: string, mayWait: boolean): Call {
    const name = this.#prefix + own;
    if (this.#called.has(keyOf({ kind, name }))) {
      throw new PermanentError(`${inWords({ kind, name })} was called twice: each call of a task needs its own name`);
    }
    if (this.#calls >= maxCalls) {
      throw new PermanentError(
        `the task has more than ${maxCalls} steps, sleeps and waits: use task.checkpoint, or children`,
      );
    }
    if (this.#open > 0) this.#sequential = false;
    this.#called.add(keyOf({ kind, name }));
    this.#calls += 1;
    this.#open += 1;
    this.rest.begin(mayWait);
    return {
      kind,
      name,
      order: this.#firstOrder + this.#calls,
      ...(this.#sequential && { sequential: true as const }),
    };
  }

  /** The entries of earlier attempts, by kind and name. A first attempt has none, unless a signal came before it. */
  stored(): Promise<Map<string, StoredEntry>> {
    this.#entries ??= this.#load();
    return this.#entries;
  }

  async #load(): Promise<Map<string, StoredEntry>> {
    const { attempts_total: attempts, signals = 0 } = this.record;
    if (attempts <= 1 && signals === 0) return new Map();
    const entries = await this.ports.steps.load(this.record);
    await keepReadEntries(this.ports, this.record, entries);
    for (const { kind, value = "" } of entries) {
      if (kind === "try") this.#hasTries = true;
      if (hasLarge(kind)) this.#resultBytes += Buffer.byteLength(value);
    }
    return new Map(entries.map((entry) => [keyOf(entry), entry]));
  }

  /** Stores an entry. Returns the entry that was stored first. */
  async add(entry: StepEntry): Promise<StepEntry> {
    await this.#caused.keep();
    const purge_at = newEntryPurgeAt(this.ports.clock, this.record);
    const stored = await this.ports.steps.add(this.record, entry, purge_at);
    const { value, ...rest } = stored;
    // The results of steps may be large, and their calls have them.
    const isLarge = hasLarge(entry.kind);
    (await this.stored()).set(keyOf(entry), { ...rest, ...(!isLarge && value !== undefined && { value }) });
    return stored;
  }

  async #suspension(waits: readonly OpenWait[], continues: boolean): Promise<Suspension> {
    if (continues) return { dueAt: this.ports.clock.now() };
    const { untilMs: dueAt, step } = waits.reduce((a, b) => (b.untilMs < a.untilMs ? b : a));
    const purgeAt = this.#recordPurgeAt(dueAt);
    if (outlivesNewEntries(this.ports.clock, purgeAt)) await this.#caused.keepAll(purgeAt);
    const entries = new Map(await this.stored());
    const { saved } = this.checkpoints;
    if (saved !== undefined) entries.set(keyOf(saved), saved);
    await keepEntries(this.ports, this.record, [...entries.values()], purgeAt);
    const awaited = waits.find((wait) => wait.awaited)?.awaited;
    if (awaited !== undefined) return { dueAt, waitingFor: awaited.waitOf(waits) };
    const signals = [...new Set(waits.flatMap(({ signals }) => signals ?? []))];
    const until = iso(dueAt);
    // A signal has to find its name in the record, whatever ends first.
    if (signals.length > 0) return { dueAt, waitingFor: { kind: "signal", signals, until } };
    if (step === undefined) return { dueAt, waitingFor: { kind: "sleep", until } };
    return { dueAt, waitingFor: { kind: "step", step: step.name, attempt: step.attempt, until } };
  }

  /** Epoch second until which the record is kept while it waits. */
  #recordPurgeAt(dueAt: number): number {
    return Math.ceil(dueAt / 1000) + longestQueueLifeSeconds + this.record.retention_seconds;
  }
}

/** True for the entries of results, which may be large. */
const hasLarge = (kind: StepEntry["kind"]): boolean => kind === "step" || kind === "try" || kind === "run";
