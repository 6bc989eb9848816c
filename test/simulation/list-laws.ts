import type { TaskRecord } from "../../src/core/model/record.ts";
import type { Lives, Watched } from "./lives.ts";

/** The answer to a submit whose input is collected. Times are epoch milliseconds. */
interface Collected {
  marker: string;
  number: number;
  /** When its first try began. */
  began: number;
  answered: number;
}

const nameOf = ({ task_id, created_at }: Pick<TaskRecord, "task_id" | "created_at">): string =>
  `${task_id} ${created_at}`;

/** The promises of tasks that collect inputs. A marker is an input's own. */
export class ListLaws {
  readonly #watched: Watched;
  readonly #lives: Lives;
  /** The list that a handler got, by task. */
  readonly #handled = new Map<string, readonly string[]>();
  /** The task whose handler got an input. */
  readonly #taskOf = new Map<string, string>();
  readonly #accepted = new Map<string, { record: TaskRecord; inputs: Collected[] }>();

  constructor(watched: Watched, lives: Lives) {
    this.#watched = watched;
    this.#lives = lives;
  }

  /** A handler got a list. */
  handled(task: Pick<TaskRecord, "task_id" | "created_at">, markers: readonly string[], most: number): void {
    const law = (holds: boolean, text: string) => {
      if (!holds) this.#lives.violated(`list: ${text}`, task.task_id);
    };
    const name = nameOf(task);
    const before = this.#handled.get(name);
    law(before === undefined || before.join() === markers.join(), "an attempt got another list than the one before it");
    law(markers.length > 0 && markers.length <= most, `a handler got ${markers.length} inputs`);
    law(new Set(markers).size === markers.length, "an input is in it twice");
    for (const marker of markers) {
      const other = this.#taskOf.get(marker);
      law(other === undefined || other === name, `${marker} is in two lists`);
      this.#taskOf.set(marker, name);
    }
    this.#handled.set(name, markers);
    for (const one of this.#accepted.get(name)?.inputs ?? []) this.#isInList(task.task_id, one, markers);
  }

  isHandled(task: Pick<TaskRecord, "task_id" | "created_at">): boolean {
    return this.#handled.has(nameOf(task));
  }

  /** A submit was accepted. */
  accepted(record: TaskRecord, one: Collected): void {
    const name = nameOf(record);
    const list = this.#accepted.get(name) ?? { record, inputs: [] };
    this.#accepted.set(name, list);
    for (const other of list.inputs) this.#inOrder(record.task_id, one, other);
    list.inputs.push(one);
    const markers = this.#handled.get(name);
    if (markers !== undefined) this.#isInList(record.task_id, one, markers);
  }

  /** At the end: each list of a completed task was handled. */
  judge(): void {
    for (const [name, { record, inputs }] of this.#accepted) {
      const present = this.#watched.table.read(record);
      if (present?.created_at !== record.created_at || present.status !== "completed" || this.#handled.has(name))
        continue;
      this.#lives.violated(`list: its ${inputs.length} inputs were accepted, and no handler got them`, record.task_id);
    }
  }

  #isInList(taskId: string, { marker, number }: Collected, markers: readonly string[]): void {
    if (markers[number - 1] === marker) return;
    this.#lives.violated(`list: the input ${number} is ${markers[number - 1]}, and ${marker} was accepted`, taskId);
  }

  /** A submit that began after another one was answered is behind it. */
  #inOrder(taskId: string, one: Collected, other: Collected): void {
    const broken = (text: string) => this.#lives.violated(`list: ${text}`, taskId);
    if (one.marker === other.marker) {
      if (one.number !== other.number) broken(`${one.marker} is the input ${other.number}, and ${one.number}`);
      return;
    }
    if (one.number === other.number) broken(`${one.marker} and ${other.marker} are both the input ${one.number}`);
    const [first, second] = one.number < other.number ? [one, other] : [other, one];
    if (second.answered < first.began) broken(`${first.marker} came later than ${second.marker}, and is before it`);
  }
}
