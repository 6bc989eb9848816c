import type { SpawnPorts } from "../../extras/children/page-writer.ts";
import type { Runs } from "../../extras/children/runs.ts";
import type { SealedFamily, Spawner } from "../../extras/children/spawner.ts";
import { AttemptSteps } from "../../extras/steps/attempt-steps.ts";
import type { Caused, StepPorts } from "../../extras/steps/step-tools.ts";
import type { TaskRecord } from "../../model/record.ts";
import type { Suspension } from "../../model/suspension.ts";
import type { CallCounts, StepStore, StoredEntry } from "../../ports/steps.ts";
import type { Clock } from "../../ports/tasks.ts";
import { mustBeOutside } from "../../task/ambient.ts";
import { type ChildSubmit, checkedRun } from "../../task/handler-submit.ts";
import { Numbering, printOf } from "../../task/numbering.ts";
import { checkedStepName } from "../../task/step-calls.ts";
import type { TaskType } from "../../task/task.ts";
import { keepEntries, newEntryPurgeAt } from "../send/keep-entries.ts";

export interface ToolPorts extends SpawnPorts, SubmitterPorts, StepPorts {}

/** The attempt whose handler makes the calls. */
interface Running {
  readonly record: TaskRecord;
  readonly type: TaskType;
  readonly traceparent: string | undefined;
}

/** True for an attempt that may spawn, or whose task has spawned in an earlier one. */
export const mayHaveChildren = ({ type, record }: Running): boolean =>
  type.children !== undefined || record.family_total !== undefined;

/**
 * The steps, children and submits of one attempt. Each is made with the handler's first call of it, so a handler that
 * makes none pays nothing. A call takes its number at once, and a checkpoint counts the calls before it: so all code of
 * calls is loaded before the handler starts.
 */
export class AttemptTools implements Caused {
  /** Resolves when the attempt is suspended; otherwise never. */
  readonly suspended: Promise<Suspension>;
  readonly #ports: ToolPorts;
  readonly #running: Running;
  readonly #aggregates: boolean;
  #spawner: Spawner | undefined;
  #submits: AttemptSubmits | undefined;
  #steps: AttemptSteps | undefined;
  #runs: Promise<Runs> | undefined;
  #runCount = 0;
  #closed = false;
  #remainingMs: () => number = () => Number.POSITIVE_INFINITY;
  #suspend!: (suspension: Promise<Suspension>) => void;

  /** @param aggregates True for the attempt that aggregates: its calls are its own in each round. */
  constructor(ports: ToolPorts, running: Running, aggregates: boolean) {
    this.#ports = ports;
    this.#running = running;
    this.#aggregates = aggregates;
    this.suspended = new Promise((resolve) => {
      this.#suspend = resolve;
    });
    // It is observed only while the handler runs.
    this.suspended.catch(() => {});
  }

  /** Loads the code that spawns. Called before the handler starts, where `mayHaveChildren` is true. */
  async loadSpawner(): Promise<Spawner> {
    const { Spawner } = await import("../../extras/children/spawner.ts");
    const { record, traceparent } = this.#running;
    this.#spawner ??= new Spawner(this.#ports, record, traceparent, this.#prefix);
    return this.#spawner;
  }

  /** Runs a child whose end the handler awaits. */
  async run(given: Parameters<typeof checkedRun>): Promise<unknown> {
    mustBeOutside("task.run");
    const child = checkedRun(...given);
    this.#runCount += 1;
    const name = checkedStepName(child.key ?? String(this.#runCount));
    return this.steps.call("run", name, async (call) => {
      this.#runs ??= import("../../extras/children/runs.ts").then(async ({ Runs }) => {
        return new Runs(this.steps, this.#ports, await this.loadSpawner());
      });
      return (await this.#runs).run(call, child);
    });
  }

  /** @param remainingMs Returns the time until the attempt times out. */
  open(remainingMs: () => number): void {
    this.#remainingMs = remainingMs;
  }

  /** Nothing suspends the attempt from now on. */
  close(): void {
    this.#closed = true;
    this.#steps?.rest.close();
  }

  get steps(): AttemptSteps {
    this.#steps ??= this.#makeSteps();
    return this.#steps;
  }

  #makeSteps(): AttemptSteps {
    const { record, type } = this.#running;
    const steps = new AttemptSteps(this.#ports, record, type, this, this.#aggregates);
    steps.rest.open(() => this.#remainingMs());
    if (this.#closed) steps.rest.close();
    this.#suspend(steps.suspended);
    return steps;
  }

  /** Undefined: the task has no children, and its type spawns none. */
  get spawner(): Spawner | undefined {
    return this.#spawner;
  }

  get submits(): AttemptSubmits {
    const { record, traceparent } = this.#running;
    this.#submits ??= new AttemptSubmits(this.#ports, record, traceparent, this.#prefix);
    return this.#submits;
  }

  /** Names of the steps whose functions have neither returned nor failed. */
  get underWay(): readonly string[] {
    return this.#steps?.underWay ?? [];
  }

  /** Nothing suspends the attempt while a piece of work lasts that has no entry. */
  during<T>(work: Promise<T>): Promise<T> {
    return this.steps.rest.during(work);
  }

  counts(): CallCounts {
    const spawned = this.#spawner?.numbers.count ?? 0;
    const submitted = this.#submits?.numbers.count ?? 0;
    return { ...(spawned > 0 && { spawned }), ...(submitted > 0 && { submitted }) };
  }

  /** Goes on behind the calls of a stored state. */
  startBehind({ spawned = 0, submitted = 0 }: CallCounts): void {
    this.#spawner?.numbers.startBehind(spawned);
    if (submitted > 0) this.submits.numbers.startBehind(submitted);
  }

  /** Creates the last children, and seals their family. Undefined: the task has no child. */
  async seal(): Promise<SealedFamily | undefined> {
    const stops = this.#running.type.children?.stopOnFailure === true;
    return this.#spawner && this.during(this.#spawner.seal(() => this.steps.stored(), stops));
  }

  async keep(): Promise<void> {
    await this.#spawner?.keep();
  }

  /** Stores what the attempt has submitted. */
  async keepSubmits(): Promise<void> {
    await this.#submits?.keep();
  }

  /** Keeps all that the attempt has caused: a later one goes on behind it. */
  async keepAll(until?: number): Promise<void> {
    await this.#spawner?.keep();
    await this.#submits?.keep(until);
  }

  /** Begins the default keys of calls. */
  get #prefix(): string {
    return this.#aggregates ? `aggregate ${this.#running.record.round}#` : "";
  }
}

interface SubmitterPorts {
  clock: Clock;
  steps: StepStore;
  submitChild(parent: TaskRecord, child: ChildSubmit, key: string, traceparent: string | undefined): Promise<string>;
}

/** The key of a submit, the id of its task, and the print of its call. */
type Submitted = [key: string, id: string, print: string];

/** The largest stored list of submits, in characters of its JSON. */
const maxCharacters = 100_000;

/**
 * The tasks that a handler submits. Within an attempt their records tell what was submitted. An attempt that does not
 * complete its task stores their ids, so that a later one does not submit them again, also after their records are
 * gone.
 */
class AttemptSubmits {
  /** Default keys. */
  readonly numbers: Numbering;
  readonly #ports: SubmitterPorts;
  readonly #record: TaskRecord;
  readonly #traceparent: string | undefined;
  /** Submits that are not stored yet. */
  #own: Submitted[] = [];
  /** Lists that this attempt has stored. */
  readonly #lists: StoredEntry[] = [];
  #earlier: Promise<ReadonlyMap<string, Submitted>> | undefined;

  constructor(ports: SubmitterPorts, record: TaskRecord, traceparent: string | undefined, prefix = "") {
    this.#ports = ports;
    this.#record = record;
    this.#traceparent = traceparent;
    this.numbers = new Numbering(`${prefix}#`, 1);
  }

  async submit(child: ChildSubmit): Promise<string> {
    const earlier = this.#record.attempts_total > 1 ? await this.#load() : noSubmits;
    const print = printOf(child);
    // A call with a key of its own takes a number, too: numbers are places.
    const number = this.numbers.next((own) => earlier.get(child.key ?? own)?.[2] === print);
    const key = child.key ?? number;
    const known = earlier.get(key);
    if (known !== undefined) return known[1];
    const id = await this.#ports.submitChild(this.#record, child, key, this.#traceparent);
    this.#own.push([key, id, print]);
    return id;
  }

  /**
   * Stores what this attempt has submitted.
   * @param until Epoch second until which the record is kept in a wait of months. Absent: the attempt begins none.
   */
  async keep(until = 0): Promise<void> {
    const { clock, steps } = this.#ports;
    await keepEntries(this.#ports, this.#record, this.#lists, until);
    const purgeAt = Math.max(until, newEntryPurgeAt(clock, this.#record));
    for (const list of listsOf(this.#own.splice(0))) {
      const name = `${this.#record.attempts_total}.${this.#lists.length}`;
      const value = JSON.stringify(list);
      this.#lists.push({ kind: "submit", name, purge_at: purgeAt });
      await steps.add(this.#record, { kind: "submit", name, value }, purgeAt);
    }
  }

  #load(): Promise<ReadonlyMap<string, Submitted>> {
    this.#earlier ??= this.#ports.steps.load(this.#record, "submit").then((entries) => {
      const lists = entries.map(({ value }) => JSON.parse(value ?? "[]") as Submitted[]);
      return new Map(lists.flat().map((submitted) => [submitted[0], submitted]));
    });
    return this.#earlier;
  }
}

const noSubmits: ReadonlyMap<string, Submitted> = new Map();

/** Lists that fit into one entry each. */
function listsOf(all: readonly Submitted[]): Submitted[][] {
  const lists: Submitted[][] = [];
  let room = 0;
  for (const submitted of all) {
    if (room <= 0) {
      lists.push([]);
      room = maxCharacters;
    }
    lists.at(-1)?.push(submitted);
    room -= submitted.join().length;
  }
  return lists;
}
