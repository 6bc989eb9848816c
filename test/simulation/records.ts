import type { Change, Changed } from "../../src/core/model/change.ts";
import type { TaskKey, TaskRecord } from "../../src/core/model/record.ts";
import type { Page, Part, Records } from "../../src/core/ports/tasks.ts";
import { describeChange } from "./describe.ts";
import type { Invocation } from "./invocation.ts";
import { request } from "./wire.ts";
import type { World } from "./world.ts";

/** The records as one invocation reaches them: over the wire, and seen by the witness. A refusal reads what stood in the way. */
export class WiredRecords implements Records {
  readonly #world: World;
  readonly #from: Invocation;

  constructor(world: World, from: Invocation) {
    this.#world = world;
    this.#from = from;
  }

  async create(record: TaskRecord, nowIso: string): Promise<TaskRecord | undefined> {
    const { table, witness } = this.#world;
    const write = () => {
      const written = table.create(record, nowIso);
      if (written) witness.created(record, this.#from);
      return written;
    };
    const created = await this.#ask(record, "creates", write, (done) => (done ? "done" : "there is one"));
    return created ? undefined : this.#readAgain(record);
  }

  async getMany(keys: readonly TaskKey[]): Promise<(TaskRecord | undefined)[]> {
    const [first] = keys;
    if (first === undefined) return [];
    const { table } = this.#world;
    return this.#ask(
      first,
      `reads ${keys.length} records from`,
      () => keys.map((key) => table.read(key)),
      (records) => records.map((record) => record?.status ?? "nothing").join(),
    );
  }

  async get(key: TaskKey, how?: "consistently"): Promise<TaskRecord | undefined> {
    if (how === "consistently") return this.#readAgain(key);
    const { table, dice, weather } = this.#world;
    const stale = dice.chance(weather.stale);
    const found = await this.#ask(
      key,
      "reads",
      () => (stale ? table.readStale(key) : table.read(key)),
      (record) => `${record?.status ?? "nothing"}${stale ? " (perhaps old)" : ""}`,
    );
    return found ?? this.#readAgain(key);
  }

  async change(key: TaskKey, change: Change): Promise<Changed> {
    const { table, witness, time } = this.#world;
    const issuedAt = time.now;
    const write = () => {
      witness.costs.written(this.#from, key.task_id, change);
      const changed = table.change(key, change);
      if (changed !== undefined) witness.changed(changed.before, changed.after, this.#from, issuedAt);
      return changed?.after;
    };
    const answer = (record: TaskRecord | undefined) => (record === undefined ? "no" : "done");
    const after = await this.#ask(key, "changes", write, answer, () => ` ${describeChange(change)}`);
    const changed: Changed =
      after === undefined ? { done: false, record: await this.#readAgain(key) } : { done: true, record: after };
    witness.answered(this.#from, key, change, changed, time.now - issuedAt);
    return changed;
  }

  savePart(key: TaskKey, part: Part, value: unknown, purgeAt: number): Promise<void> {
    return this.#ask(key, `keeps ${part} of`, () => this.#world.table.savePart(key, part, value, purgeAt));
  }

  loadPart(key: TaskKey, part: Part): Promise<unknown> {
    if (part.startsWith("input#")) this.#world.witness.readsInput(this.#from);
    return this.#ask(key, `loads ${part} of`, () => this.#world.table.loadPart(key, part));
  }

  keepPart(key: TaskKey, part: Part, purgeAt: number): Promise<void> {
    return this.#ask(key, `keeps ${part} longer of`, () => this.#world.table.keepPart(key, part, purgeAt));
  }

  list(): Promise<Page<TaskRecord>> {
    return Promise.reject(new Error("the simulation lists nothing"));
  }

  listDeadLetters(): Promise<Page<TaskRecord>> {
    return Promise.reject(new Error("the simulation lists nothing"));
  }

  /** A consistent read. */
  #readAgain(key: TaskKey): Promise<TaskRecord | undefined> {
    const { table, witness } = this.#world;
    return this.#ask(key, "reads again", () => {
      witness.wakeHolder(key.task_id);
      return table.read(key);
    });
  }

  #ask<T>(
    key: TaskKey,
    verb: string,
    apply: () => T,
    answer?: (value: T) => string,
    details: () => string = () => "",
  ): Promise<T> {
    const { story, witness } = this.#world;
    witness.touched(this.#from, key);
    const what = () => `${verb} ${story.name(key.task_id)}${details()}`;
    return request(this.#world, this.#from, {
      service: "table",
      what,
      apply,
      ...(answer === undefined ? {} : { answer }),
    });
  }
}
