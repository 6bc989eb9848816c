import type { TaskRecord } from "../../src/core/model/record.ts";
import type { Life, Lives, Watched } from "./lives.ts";

/** Types whose tasks of a key run in strict order; of the second one a dead letter holds its key. */
export const strictTypes: ReadonlySet<string> = new Set(["strict", "held"]);
const holdingType = "held";

/** Whoever takes a turn may have read its line this long before, in milliseconds: its process may stand still. */
const readMs = 60_000;

/** A turn is given back within this time after its task has ended, in milliseconds. */
const backMs = 30_000;

/** The tasks with turns, by line. */
export interface Turns {
  of(line: string): ReadonlyMap<string, number>;
}

/** The promises of strict order. */
export class TurnLaws {
  readonly #watched: Watched;
  readonly #lives: Lives;
  readonly #isPrompt: () => boolean;
  /** Times from which tasks wait in lines without a turn. */
  readonly #waitsSince = new Map<string, number>();
  /** Times at which tasks last got turns, by line and task. */
  readonly #tookAt = new Map<string, number>();
  /** The turns of the world. Absent: it has no lines yet. */
  turns: Turns | undefined;
  /** Hears of a dead letter that holds its key. */
  onHeld: (record: TaskRecord) => void = () => {};

  constructor(watched: Watched, lives: Lives, isPrompt: () => boolean) {
    this.#watched = watched;
    this.#lives = lives;
    this.#isPrompt = isPrompt;
  }

  /** A task waits in a line, or has lost its turn. */
  waits(line: string, task: string): void {
    if (strictTypes.has(line.split("/")[1] ?? "")) this.#waitsSince.set(`${line} ${task}`, this.#watched.time.now);
  }

  /** No task starts before the one before it has ended for good. */
  claimed(record: TaskRecord): void {
    if (!strictTypes.has(record.type)) return;
    const key = keyIn(this.#lives.life(record.task_id)?.input);
    for (const life of this.#lives.lives.values()) {
      if (life.taskId === record.task_id || life.tenantId !== record.tenant_id || keyIn(life.input) !== key) continue;
      const other = this.#watched.table.read({ tenant_id: life.tenantId, task_id: life.taskId });
      if (other === undefined || other.type !== record.type) continue;
      if (this.#hasTurn(life, other))
        this.#lives.violated(`it starts, and ${other.task_id} is not over`, record.task_id);
    }
  }

  /** A task gets the turn of a line. None that was accepted before it waits there, unless it has just come. */
  took(line: string, task: string): void {
    if (!strictTypes.has(line.split("/")[1] ?? "")) return;
    this.#tookAt.set(`${line} ${task}`, this.#watched.time.now);
    const record = this.#read(task);
    for (const { taskId } of record === undefined ? [] : this.#lives.lives.values()) {
      const other = this.#read(taskId);
      if (other !== undefined && record !== undefined && other.line === line && this.#isPassed(other, record))
        this.#lives.violated(`it gets the turn of ${taskId}, which was accepted before it`, task);
    }
  }

  #read(task: string): TaskRecord | undefined {
    const life = this.#lives.life(task);
    return life && this.#watched.table.read({ tenant_id: life.tenantId, task_id: task });
  }

  /** True for a task that has started its round and has not ended for good. */
  #hasTurn(life: Life, record: TaskRecord): boolean {
    const { core, time } = this.#watched;
    if (!core.record.isKept(record, time.now)) return false;
    if (record.status === "failed") return record.type === holdingType && record.dead_letter_at !== undefined;
    if (record.status !== "pending" && record.status !== "processing") return false;
    return life.claims.some(({ round }) => round === record.round);
  }

  #isPassed(other: TaskRecord, record: TaskRecord): boolean {
    if (other.status !== "pending" || !isBefore(other, record)) return false;
    const since = this.#waitsSince.get(`${other.line} ${other.task_id}`) ?? Number.POSITIVE_INFINITY;
    const { core, time } = this.#watched;
    const isOpen = !core.record.hasEnded(other, time.now) && core.record.isKept(other, time.now);
    return isOpen && since < time.now - readMs;
  }

  /** The end of a task gives its turn back, whoever ends it. */
  changed(before: TaskRecord, after: TaskRecord): void {
    const { strict_line: line, status } = after;
    if (line === undefined || !strictTypes.has(after.type)) return;
    const isHeld = after.type === holdingType && after.dead_letter_at !== undefined;
    if (isHeld && before.dead_letter_at === undefined) this.onHeld(after);
    const isOver = !["pending", "processing"].includes(status) && !isHeld;
    const wasOver =
      !["pending", "processing"].includes(before.status) && before.dead_letter_at === after.dead_letter_at;
    if (!isOver || wasOver) return;
    this.#mustBeBack(line, after);
  }

  /** A second message may take the turn again for a moment: it is then that its worker hears of the end. */
  #mustBeBack(line: string, ended: TaskRecord): void {
    const { time, table } = this.#watched;
    const { task_id: task, status, round } = ended;
    const sinceMs = time.now;
    time.after(backMs, () => {
      const stays = this.turns?.of(line).has(task) === true;
      if (!stays || table.read(ended)?.round !== round || !this.#isPrompt()) return;
      if ((this.#tookAt.get(`${line} ${task}`) ?? 0) > sinceMs) this.#mustBeBack(line, ended);
      else this.#lives.violated(`it is ${status}, and has its turn in ${line} still`, task);
    });
  }
}

const isBefore = (one: TaskRecord, other: TaskRecord): boolean =>
  `${one.created_at}#${one.task_id}` < `${other.created_at}#${other.task_id}`;

function keyIn(input: string | undefined): string {
  try {
    return String((JSON.parse(input ?? "{}") as { key?: string }).key);
  } catch {
    return "";
  }
}
