import type { TaskRecord } from "../model/record.ts";

/** Tasks that have not ended, or that a rescue ended (`rescued_at`), of all tenants, from a read of the whole table. */
export interface OpenTasks {
  /**
   * Reads a part of the table, of bounded size, eventually consistent. Returns its open tasks and those with
   * `rescued_at`.
   * @param from `next` of the part before. Undefined: the beginning.
   * @returns `next` is undefined at the end.
   * @throws PortUnavailable
   */
  part(from: string | undefined): Promise<{ items: TaskRecord[]; next: string | undefined }>;
}
