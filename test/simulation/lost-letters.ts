import type { TaskRecord } from "../../src/core/model/record.ts";

/** What a message of a DLQ tells of its task: these members of a record come back. */
const told = [
  ...([
    "tenant_id",
    "task_id",
    "type",
    "priority",
    "status",
    "requested_by",
    "correlation_id",
    "max_attempts",
  ] as const),
  ...(["attempts", "error", "error_type", "error_kind", "first_failed_at", "dead_letter_at"] as const),
];

/** Dead letters whose record the table has lost, and that no sweep has brought back. */
export class LostLetters {
  readonly #lost = new Map<string, TaskRecord>();
  /** Lost tasks whose client has submitted them again: their letters are those of an earlier task by then. */
  readonly #submittedAgain = new Set<string>();

  add(record: TaskRecord): void {
    this.#lost.set(record.task_id, record);
    this.#submittedAgain.delete(record.task_id);
  }

  /** Ids of the tasks that are still lost. */
  get left(): string[] {
    return [...this.#lost.keys()].filter((taskId) => !this.#submittedAgain.has(taskId));
  }

  /** A record is created. Undefined: no sweep has made it of a lost task's letter. Otherwise the members that are not as they were. */
  back(record: TaskRecord): string[] | undefined {
    const before = this.#lost.get(record.task_id);
    if (before === undefined) return undefined;
    if (record.status === "pending") {
      this.#submittedAgain.add(record.task_id);
      return undefined;
    }
    this.#lost.delete(record.task_id);
    return told.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(record[name]));
  }
}
