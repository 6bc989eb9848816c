import { cancel } from "../core/control/control.ts";
import { type SentFile, sentFacts, storeFiles } from "../core/extras/files/uploads.ts";
import { lateExtras } from "../core/extras/late-code.ts";
import { FlowBook } from "../core/extras/limits/flow-book.ts";
import { limiter, loadLimits } from "../core/extras/limits/index.ts";
import { followers } from "../core/extras/list.ts";
import { signal } from "../core/extras/steps/signal.ts";
import { parseLineCheck } from "../core/model/read-envelope.ts";
import { iso, type TaskKey, type TaskRecord } from "../core/model/record.ts";
import { type Identity, type Tier, tiers } from "../core/model/words.ts";
import { submit } from "../core/pipeline/submit/submit.ts";
import type { SubmitCall } from "../core/pipeline/submit/submit-ports.ts";
import { lateCode } from "../core/pipeline/work/late-code.ts";
import { redriveBatch } from "../core/pipeline/work/redrive.ts";
import type { Delivery, Random } from "../core/ports/tasks.ts";
import { fireTask } from "../core/schedules/fire-task.ts";
import { type ScheduleView, scheduleView } from "../core/schedules/schedule-record.ts";
import { type KnownType, knownTypesOf } from "../core/task/catalog.ts";
import { checkSignal } from "../core/task/handler-submit.ts";
import { knownTypes } from "../core/task/known-types.ts";
import { registry, type TaskType } from "../core/task/task.ts";
import { toCatalog } from "../core/task/to-catalog.ts";
import { FakeClock } from "../memory/clock.ts";
import { noMetrics } from "../memory/others.ts";
import { type MemoryStores, memoryStores, nextMoment } from "../memory/stores.ts";
import { maxReceiveCount, workerTimeoutSeconds } from "../settings/config.ts";
import { type ChildPath, Faults, ofChild, pathOf } from "./faults.ts";
import { ScheduleTimes } from "./schedule-times.ts";
import { Lines, Track } from "./track.ts";
import { Worker, type WorkerWorld } from "./worker.ts";

/** After this number of rounds of work a test fails, as it would probably never end. */
const maxRounds = 10_000;

/**
 * Most tasks of a run to which a task of their own type has led. A run with more of them probably has no end, and ends
 * with an error before the time-out of a test runner.
 */
const maxRepeats = 200;

/** Lists up to ten keys. */
const someOf = (keys: readonly string[]): string => keys.slice(0, 10).join(", ") + (keys.length > 10 ? ", ..." : "");

export interface WorldOptions {
  startMs: number;
  random: Random;
  patienceMs: number;
}

/** A signal that a client sends to a task. */
export interface Signal {
  name: string;
  /** Any JSON. Default: null. */
  body?: unknown;
  /** Seconds of the kit's time from the submit on. Default: 0. */
  afterSeconds?: number;
}

/** A signal that is to be sent at a time, in epoch milliseconds. */
interface DueSignal extends Signal {
  key: TaskKey;
  at: number;
}

/** A file as a form would send it. @throws Problem `invalid_input` */
async function sentFile(name: string, file: Uint8Array | Blob): Promise<SentFile> {
  const blob = file instanceof Uint8Array ? new Blob([new Uint8Array(file)]) : file;
  const facts = sentFacts(name, { contentType: blob.type, fileName: blob instanceof File ? blob.name : "" });
  return { facts, bytes: new Uint8Array(await blob.arrayBuffer()) };
}

const endless = (type: string): Error =>
  new Error(
    `The test kit stopped: tasks of the type ${type} have led to more than ${maxRepeats} tasks of this type, and so ` +
      "probably without an end. run(type, input, { follow: false }) does not run the tasks that a handler submits; " +
      "start and advance run those of a given time.",
  );

/** A value as the API gets it. */
export const asJson = (value: unknown): unknown =>
  value === undefined ? undefined : JSON.parse(JSON.stringify(value) ?? "null");

/** A whole deployment in memory. Its time advances only when there is no work to do. */
export class World implements WorkerWorld {
  readonly clock: FakeClock;
  readonly stores: MemoryStores;
  /** Loaded with the world: its clock does not wait for code. */
  readonly lateCode = [lateCode, lateExtras];
  readonly flow: FlowBook;
  readonly lines = new Lines();
  readonly types: readonly TaskType[];
  /** The types as a handler's submit sees them: the worker has their whole schemas. */
  readonly known: ReadonlyMap<string, KnownType>;
  /** The types as a client's submit sees them. */
  readonly #catalog: ReadonlyMap<string, KnownType>;
  readonly random: Random;
  readonly patienceMs: number;
  readonly busy = new Set<object>();
  readonly #tracks = new Map<string, Track>();
  #ids = 0;
  #mistake: Error | undefined;
  #loop: Error | undefined;
  #signals: DueSignal[] = [];

  constructor(types: readonly TaskType[], { startMs, random, patienceMs }: WorldOptions) {
    this.clock = new FakeClock(startMs);
    this.stores = memoryStores(this.clock);
    this.flow = new FlowBook({ ...this.stores, log: this.lines.port });
    this.types = types;
    this.known = knownTypesOf(types);
    this.#catalog = knownTypes(toCatalog(types));
    this.random = random;
    this.patienceMs = patienceMs;
  }

  /** UUIDs that count up. */
  readonly newId = (): string => {
    this.#ids += 1;
    return `00000000-0000-7000-8000-${String(this.#ids).padStart(12, "0")}`;
  };

  /** The notes about a task. Created at the first call. */
  track({ tenant_id, task_id }: TaskKey, faults = new Faults([]), path?: ChildPath): Track {
    const track = this.#tracks.get(task_id) ?? new Track({ tenant_id, task_id }, faults, path);
    this.#tracks.set(task_id, track);
    return track;
  }

  childTrack({ key: { tenant_id }, faults, path }: Track, task_id: string, key: string): Track {
    return this.track({ tenant_id, task_id }, faults, path && [...path, key]);
  }

  /** Notes which tasks led to a new task. */
  follow(parent: Track, task_id: string, type: string): void {
    const { lineage } = parent;
    const { types, run } = lineage;
    this.track({ tenant_id: parent.key.tenant_id, task_id }).lineage = { ...lineage, types: new Set([...types, type]) };
    if (!types.has(type)) return;
    run.repeats += 1;
    if (run.repeats > maxRepeats) this.#loop ??= endless(type);
  }

  mistake(error: Error): void {
    this.#mistake ??= error;
  }

  /**
   * @throws RangeError for a mistake of the test, such as a fault that has not happened, or cannot happen at its step
   */
  mustHaveNoMistake(root: Track): void {
    const mistake = this.#mistake;
    this.#mistake = undefined;
    if (mistake !== undefined) throw mistake;
    const fault = root.faults.next();
    if (fault === undefined) return;
    let track = root;
    for (const key of pathOf(fault)) {
      const keys = [...track.spawned.values()].map((child) => child.key);
      const child = [...track.spawned.values()].find((spawned) => spawned.key === key);
      if (child === undefined) {
        const had = keys.length === 0 ? "It has no children" : `The keys of its children are ${someOf(keys)}`;
        throw new RangeError(
          `The fault ${fault.how} did not happen: the task${ofChild(track.path ?? [])} spawned no child ${key}. ${had}.`,
        );
      }
      track = this.childTrack(track, child.taskId, key);
    }
    throw track.notHappened(fault);
  }

  /** Stores files as uploads, and returns their ids by the files' names. */
  async upload(
    identity: Identity,
    given: Readonly<Record<string, Uint8Array | Blob>>,
  ): Promise<Record<string, string>> {
    const entries = Object.entries(given).map(async ([name, file]) => [name, await sentFile(name, file)] as const);
    const ports = this.#ports();
    return storeFiles(ports, { identity, idempotencyKey: undefined }, new Map(await Promise.all(entries)));
  }

  async submit(call: SubmitCall): Promise<TaskRecord> {
    const { record } = await submit({ ...this.#ports(), types: this.#catalog }, call);
    return record;
  }

  async cancel(key: TaskKey): Promise<void> {
    const record = await this.stores.records.get(key);
    if (record !== undefined) await cancel({ ...this.#ports(), types: this.known }, record);
  }

  /** The schedules that handlers have made for a tenant, in the order of their names. */
  async schedules(tenantId: string): Promise<ScheduleView[]> {
    const own = this.stores.schedules.all().filter((one) => one.tenant_id === tenantId && one.state === "ready");
    return own
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map((schedule) => scheduleView(schedule, this.clock.now()));
  }

  /** Sends signals to a task when their time has come. */
  sendLater(key: TaskKey, signals: readonly Signal[]): void {
    for (const { name, body = null } of signals) checkSignal(name, body);
    const now = this.clock.now();
    this.#signals.push(...signals.map((one) => ({ ...one, key, at: now + (one.afterSeconds ?? 0) * 1000 })));
  }

  async #sendSignals(): Promise<void> {
    const due = this.#signals.filter(({ at }) => at <= this.clock.now());
    this.#signals = this.#signals.filter((one) => !due.includes(one));
    for (const { key, name, body } of due) {
      const record = await this.stores.records.get(key);
      if (record === undefined) continue;
      await signal({ ...this.#ports(), types: this.#catalog }, record, name, asJson(body ?? null));
    }
  }

  /**
   * Works until there is nothing left to do. Between two rounds of work it advances the time to the next message or
   * one-off.
   * @param twice True: two workers get every message.
   * @param untilMs Leaves what is due after this time, and then has this time. Default: nothing is left.
   */
  async drain(twice: boolean, untilMs = Number.POSITIVE_INFINITY): Promise<void> {
    await loadLimits();
    this.#loop = undefined;
    // A schedule has no last time: its times come in a time that a test lets pass, and not in the run of a task.
    const firings = Number.isFinite(untilMs) ? new ScheduleTimes(this.stores, this.clock.now()) : undefined;
    for (let round = 0; round < maxRounds; round++) {
      const next = this.#nextMoment(firings);
      if (next === undefined || next > untilMs) return this.#passUntil(untilMs);
      await this.clock.advance(Math.max(0, next - this.clock.now()));
      await firings?.fire({ ...this.#ports(), types: this.known });
      await this.#sendSignals();
      await this.#fireOneOffs();
      for (const tier of tiers) {
        for (const delivery of this.#take(tier)) await this.#deliver(delivery, twice);
      }
      // A test that lets time pass gives it an end.
      if (this.#loop !== undefined && firings === undefined) throw this.#loop;
    }
    throw new Error(
      `The test kit stopped after ${maxRounds} rounds of work, as there is still work to do. ` +
        "Does a task submit new tasks without an end?",
    );
  }

  async #fireOneOffs(): Promise<void> {
    for (const payload of this.stores.oneOffs.takeDue(iso(this.clock.now()))) {
      if (payload.kind === "task") await fireTask(this.#ports(), payload);
    }
  }

  async #passUntil(ms: number): Promise<void> {
    if (Number.isFinite(ms)) await this.clock.advance(Math.max(0, ms - this.clock.now()));
  }

  /** The visible messages of a tier, for both kinds of workers. */
  #take(tier: Tier): Delivery[] {
    const of = (runsOn?: "container") => this.stores.queues.take(tier, 10, 6 * workerTimeoutSeconds, runsOn);
    return [...of(), ...of("container")];
  }

  async #deliver(delivery: Delivery, twice: boolean): Promise<void> {
    const verdicts = await (delivery.receiveCount > maxReceiveCount
      ? this.#redrive(delivery)
      : this.#work(delivery, twice));
    if (verdicts.includes("done")) this.stores.queues.acknowledge(delivery.receiptHandle);
  }

  /** Delivers a message to one worker, or to two at the same time. */
  async #work(delivery: Delivery, twice: boolean): Promise<string[]> {
    const check = parseLineCheck(delivery.body);
    if (check !== undefined) return [await limiter.check(this.#linePorts(), delivery, check)];
    const track = this.track(JSON.parse(delivery.body) as TaskKey);
    const workers = Array.from({ length: twice ? 2 : 1 }, () => new Worker(this, track));
    return Promise.all(workers.map((worker) => worker.run(delivery)));
  }

  #linePorts() {
    const at = { random: this.random, timeScale: 1 };
    return { ...this.#ports(), ...at, flow: this.flow, registry: registry(this.types) };
  }

  #redrive(delivery: Delivery): Promise<string[]> {
    return redriveBatch({ ...this.#ports(), random: this.random, timeScale: 1 }, [delivery]);
  }

  /**
   * Time at which the next message becomes visible, the next one-off or schedule fires, or the next signal is sent.
   * Undefined: there are none.
   */
  #nextMoment(firings: ScheduleTimes | undefined): number | undefined {
    const times = [nextMoment(this.stores) ?? [], firings?.next() ?? []].flat();
    const moments = [...times, ...this.#signals.map(({ at }) => at)];
    return moments.length === 0 ? undefined : Math.min(...moments);
  }

  #ports() {
    const { stores, newId, lines } = this;
    return { ...stores, extras: followers(stores.steps), newId, log: lines.port, metrics: noMetrics };
  }
}
