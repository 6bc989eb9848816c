import type { TaskRecord } from "../core/model/record.ts";
import { isTerminal } from "../core/model/words.ts";
import type { OpenTasks } from "../core/ports/tasks.ts";
import type { MemoryRecords } from "./records.ts";

/** Records of a part. */
const partSize = 100;

/** The open tasks in memory. */
export class MemoryOpenTasks implements OpenTasks {
  readonly #records: Pick<MemoryRecords, "all">;

  constructor(records: Pick<MemoryRecords, "all">) {
    this.#records = records;
  }

  async part(from = "0"): Promise<{ items: TaskRecord[]; next: string | undefined }> {
    const all = this.#records.all();
    const end = Number(from) + partSize;
    const isListed = ({ status, rescued_at }: TaskRecord) => !isTerminal(status) || rescued_at !== undefined;
    const items = all.slice(Number(from), end).filter(isListed);
    return { items, next: end < all.length ? String(end) : undefined };
  }
}
