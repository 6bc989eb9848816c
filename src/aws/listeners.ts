import type { Listeners } from "../core/ports/notify.ts";
import type { Clock } from "../core/ports/tasks.ts";
import type { DynamoTable } from "./dynamo-table.ts";
import { getMany, maxKeys } from "./get-many.ts";
import { keys } from "./table.ts";

/** Age of an answer that need not be fresh, in milliseconds, at most. */
const staleMs = 2_000;

/** Most answers that a process remembers. */
const maxRemembered = 2_000;

interface Key extends Record<string, string> {
  pk: string;
  sk: string;
}

interface Read {
  keys: Map<string, Key>;
  heard: Promise<ReadonlySet<string>>;
}

/** Marks of open connections in DynamoDB. Calls of the same tick share one request of at most 100 keys. */
export class DynamoListeners implements Listeners {
  readonly #table: DynamoTable;
  readonly #clock: Clock;
  /** Answers by name of a mark. */
  readonly #known = new Map<string, { heard: boolean; atMs: number }>();
  /** The read that has not started. */
  #next: Read | undefined;

  constructor(table: DynamoTable, clock: Clock) {
    this.#table = table;
    this.#clock = clock;
  }

  async hears(tenantId: string, principal: string, fresh: boolean): Promise<boolean> {
    const marks = (["own", "tenant"] as const).map((scope) => keys.listener({ tenant_id: tenantId, principal, scope }));
    const known = fresh ? undefined : this.#recall(marks);
    if (known !== undefined) return known;
    const heard = await this.#read(marks);
    return marks.some((mark) => heard.has(nameOf(mark)));
  }

  /** Returns what is remembered of all these marks. Undefined: it is too old. */
  #recall(marks: readonly Key[]): boolean | undefined {
    const now = this.#clock.now();
    const answers = marks.map((mark) => this.#known.get(nameOf(mark)));
    if (!answers.every((answer) => answer !== undefined && now - answer.atMs < staleMs)) return undefined;
    return answers.some((answer) => answer?.heard);
  }

  /** Returns the names of the marks that exist, of these and maybe others. */
  #read(marks: readonly Key[]): Promise<ReadonlySet<string>> {
    if (this.#next === undefined || this.#next.keys.size + marks.length > maxKeys) this.#next = this.#plan();
    const { keys, heard } = this.#next;
    for (const mark of marks) keys.set(nameOf(mark), mark);
    return heard;
  }

  #plan(): Read {
    const keys: Read["keys"] = new Map();
    const start = new Promise<void>((resolve) => setImmediate(resolve));
    const read: Read = {
      keys,
      heard: start.then(() => {
        if (this.#next === read) this.#next = undefined;
        return this.#marksOf(keys);
      }),
    };
    return read;
  }

  async #marksOf(wanted: ReadonlyMap<string, Key>): Promise<ReadonlySet<string>> {
    const items = await getMany(this.#table, [...wanted.values()]);
    const now = this.#clock.now();
    const live = items.filter(({ until }) => Number(until) * 1000 > now);
    const heard = new Set(live.map((item) => nameOf(item as Key)));
    if (this.#known.size + wanted.size > maxRemembered) this.#known.clear();
    for (const name of wanted.keys()) this.#known.set(name, { heard: heard.has(name), atMs: now });
    return heard;
  }
}

const nameOf = ({ pk, sk }: Key): string => `${pk} ${sk}`;
