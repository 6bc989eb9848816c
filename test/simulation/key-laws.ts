import type { TaskRecord } from "../../src/core/model/record.ts";
import type { Identity } from "../../src/core/model/words.ts";
import type { Lives, Watched } from "./lives.ts";

type Answered = Pick<TaskRecord, "tenant_id" | "task_id" | "created_at">;

/** By how much two processes' clocks may differ, in milliseconds, with some time for an answer's way. */
const marginMs = 1000;

/** One idempotency key is answered by one task for as long as that task's record lives, however the key is sent. */
export class KeyLaws {
  readonly #watched: Watched;
  readonly #lives: Lives;
  readonly #answers = new Map<string, Answered>();

  constructor(watched: Watched, lives: Lives) {
    this.#watched = watched;
    this.#lives = lives;
  }

  /** @param key The idempotency key. Undefined: the submit had none. */
  answered({ tenantId, principal }: Identity, key: string | undefined, record: Answered): void {
    if (key === undefined) return;
    const name = JSON.stringify([tenantId, principal, key]);
    const earlier = this.#answers.get(name);
    // A late answer tells of a task whose record was gone before the present one was made.
    if (earlier?.task_id === record.task_id && record.created_at < earlier.created_at) return;
    this.#answers.set(name, record);
    if (earlier === undefined || isSame(earlier, record) || !this.#isAlive(earlier)) return;
    this.#lives.violated(
      `idempotency: the key ${key} was answered by another task, whose record lives`,
      earlier.task_id,
    );
  }

  #isAlive(answered: Answered): boolean {
    const { table, core, time } = this.#watched;
    const record = table.read(answered);
    return record !== undefined && isSame(record, answered) && core.record.isKept(record, time.now + marginMs);
  }
}

const isSame = (a: Answered, b: Answered): boolean => a.task_id === b.task_id && a.created_at === b.created_at;
