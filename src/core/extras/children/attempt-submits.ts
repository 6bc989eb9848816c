import type { TaskRecord } from "../../model/record.ts";
import { keepEntries, newEntryPurgeAt } from "../../pipeline/send/keep-entries.ts";
import type { StepStore, StoredEntry } from "../../ports/steps.ts";
import type { Clock } from "../../ports/tasks.ts";
import type { ChildSubmit } from "../../task/handler-submit.ts";
import { Numbering, printOf } from "../../task/numbering.ts";

export interface SubmitterPorts {
  clock: Clock;
  steps: StepStore;
  submitChild(parent: TaskRecord, child: ChildSubmit, key: string, traceparent: string | undefined): Promise<string>;
}

/** The key of a submit, the id of its task, and the print of its call. */
type Submitted = [key: string, id: string, print: string];

/** The largest stored list of submits, in characters of its JSON. */
const mostCharacters = 100_000;

/**
 * The tasks that a handler submits. Within an attempt their records tell what was submitted. An attempt that does not
 * complete its task stores their ids, so that a later one does not submit them again, also after their records are
 * gone.
 */
export class AttemptSubmits {
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
      room = mostCharacters;
    }
    lists.at(-1)?.push(submitted);
    room -= submitted.join().length;
  }
  return lists;
}
