import type { TaskRecord } from "../../src/core/model/record.ts";
import { longestQueueLifeSeconds } from "../../src/core/model/record.ts";
import type { Holder, Submitted, UniqueKey } from "../../src/core/ports/unique.ts";
import type { Invocation } from "./invocation.ts";
import type { Lives, Watched } from "./lives.ts";

/** A task waits for its turn for this time at most, in milliseconds. */
const longestTurnMs = longestQueueLifeSeconds * 1000;

/** An input that a task was given: with its record, or in place of an earlier one. */
interface Given {
  input: string | undefined;
  at: number;
  from: Invocation;
}

/** One submit with a unique key, of which its client was told that it is accepted. */
export interface AcceptedUnique {
  record: TaskRecord;
  replayed: boolean;
  input: string;
  mode: string;
  /** When its first try began, in epoch milliseconds. */
  began: number;
  /** True when the submit itself cancels the holder. */
  cancels: boolean;
}

const nameOf = ({ task_id, created_at }: Submitted): string => `${task_id} ${created_at}`;
const replacing = (mode: string | undefined): boolean => mode === "replace" || mode === "debounce";
const isUnstarted = ({ status, attempts_total }: TaskRecord): boolean => status === "pending" && attempts_total === 0;

/** Without any trouble a worker gets the message of a task within this time, in milliseconds: less than any retention. */
const inLineMs = 50_000;

/** Longest time between a message and the note that it is sent, in milliseconds. */
const noteMs = 1000;

/** By how much two processes' clocks may differ, in milliseconds. */
const skewMs = 400;

/** The promises of unique submits. */
export class UniqueLaws {
  readonly #watched: Watched;
  readonly #lives: Lives;
  readonly #isCalm: () => boolean;
  /** Tasks that had their key at some time. */
  readonly #held = new Set<string>();
  /** When each task got its key. */
  readonly #takenAt = new Map<string, number>();
  /** The inputs of each task, in the order in which it got them. */
  readonly #given = new Map<string, Given[]>();
  /** Times at which a key's message was noted as sent. */
  readonly #noted = new Map<string, number>();
  /** When each call last looked at its key. */
  readonly #looked = new WeakMap<Invocation, number>();
  /** Calls that sent a message. */
  readonly #senders = new WeakSet<Invocation>();
  /** When a request of a client last made the task due earlier. */
  readonly #rescheduledAt = new Map<string, number>();
  /** When a client's call first sent a task's message. */
  readonly #sentAt = new Map<string, number>();
  /** The task that had the key of a task right before it. */
  readonly #before = new Map<string, Submitted>();
  /** Tasks that began to wait for the ends of others. */
  readonly #waited = new Set<string>();
  /** Tasks that a restart made. */
  readonly #restarts = new Set<string>();
  /** Tasks of which a message was sent. */
  readonly #messaged = new Set<string>();
  /** Tasks for which others were cancelled. */
  readonly #successors = new Set<string>();
  /** Calls that made a task due earlier: these send a message. */
  readonly #earlier = new WeakSet<Invocation>();

  /** @param isCalm True as long as nothing went wrong in the world. */
  constructor(watched: Watched, lives: Lives, isCalm: () => boolean) {
    this.#isCalm = isCalm;
    this.#watched = watched;
    this.#lives = lives;
  }

  created(record: TaskRecord, from: Invocation): void {
    if (record.unique_key === undefined) return;
    // A record that its submit took back may be made once more, by a request of another mode with the same idempotency key.
    const note = (tasks: Set<string>, is: boolean) => (is ? tasks.add(nameOf(record)) : tasks.delete(nameOf(record)));
    note(this.#waited, record.waiting_for?.kind === "unique");
    note(this.#restarts, from.unique?.mode === "restart");
    this.#given.set(nameOf(record), [{ input: from.input, at: this.#watched.time.now, from }]);
  }

  looked(from: Invocation): void {
    this.#looked.set(from, this.#watched.time.now);
  }

  /** A key passes to another task only when its task has ended; or has started, and the submit must not lose its input. */
  taken({ tenant_id }: UniqueKey, before: Holder | undefined, holder: Holder, from: Invocation): void {
    this.#held.add(nameOf(holder));
    this.#takenAt.set(nameOf(holder), this.#watched.time.now);
    this.#noted.delete(nameOf(holder));
    if (before === undefined || nameOf(before) === nameOf(holder)) return;
    this.#before.set(nameOf(holder), before);
    const { core, table, time } = this.#watched;
    const record = table.read({ tenant_id, task_id: before.task_id });
    if (record === undefined || record.created_at !== before.created_at) return;
    // The list of a task that collects inputs is full, or closed.
    if (record.collects !== undefined) return;
    // A retry goes on without its key.
    const ended = core.status.isTerminal(record.status) || record.round > 1;
    if (ended || !core.record.isKept(record, time.now + skewMs)) return;
    if (!isUnstarted(record) && replacing(from.unique?.mode)) return;
    const waits = table.read({ tenant_id, task_id: holder.task_id })?.waiting_for;
    if (from.unique?.mode === "restart" && waits?.kind === "unique" && waits.tasks.includes(before.task_id)) return;
    this.#lives.violated(`unique: ${from.name} took the key of a task that is ${record.status}`, before.task_id);
  }

  sentNoted(holder: Submitted): void {
    this.#noted.set(nameOf(holder), this.#watched.time.now);
  }

  /** A submit that joins a task sends a message only where the task has none, or one that would come too late. */
  sent(from: Invocation, taskId: string): void {
    const life = this.#lives.life(taskId);
    if (life !== undefined) this.#messaged.add(nameOf({ task_id: taskId, created_at: life.createdAt }));
    if (from.unique === undefined || life === undefined || this.#earlier.has(from)) return;
    // A try that was given up on.
    if (this.#senders.has(from)) return;
    this.#senders.add(from);
    const name = nameOf({ task_id: taskId, created_at: life.createdAt });
    const { now } = this.#watched.time;
    const firstAt = this.#sentAt.get(name) ?? now;
    this.#sentAt.set(name, firstAt);
    const lookedAt = this.#looked.get(from) ?? 0;
    // A reschedule in between brought the start nearer than the submit knows.
    if ((this.#rescheduledAt.get(name) ?? 0) > lookedAt) return;
    // Without any trouble, the note follows within milliseconds.
    if ((this.#noted.get(name) ?? now) < lookedAt || (this.#isCalm() && firstAt + noteMs < lookedAt)) {
      this.#lives.violated(`unique: ${from.name} sends a message of a task that has one`, taskId);
    }
  }

  changed(before: TaskRecord, after: TaskRecord, from: Invocation): void {
    if (after.attempts_total > before.attempts_total) this.#claimed(after);
    const isOfTurn = before.waiting_for?.kind === "unique" || before.superseded_by !== after.superseded_by;
    if (isOfTurn) this.#lives.costs.lookedAt(after.task_id);
    this.#superseded(before, after);
    this.#cancelledInLine(before, after);
    if (after.due_at !== before.due_at) this.#moved(before, after, from);
    // The first attempt of a task that collects inputs makes the list its input.
    if (after.input_part === before.input_part || after.collects !== undefined) return;
    const law = (holds: boolean, text: string) => {
      if (!holds) this.#lives.violated(`unique: ${text}`, after.task_id);
    };
    const given = this.#given.get(nameOf(after)) ?? [];
    if (from.kind === "control") law(after.round > before.round, "an input was replaced, and no round began");
    else {
      law(isUnstarted(before), "an input was replaced after the start");
      law(replacing(from.unique?.mode), `${from.name} replaced an input, and was not to`);
    }
    law(!given.some((one) => one.from === from), `${from.name} brought its input back`);
    given.push({ input: from.input, at: this.#watched.time.now, from });
  }

  /** A submit or a control moved the start. */
  #moved(before: TaskRecord, after: TaskRecord, from: Invocation): void {
    if (after.due_at < before.due_at) {
      this.#earlier.add(from);
      if (from.kind === "control") this.#rescheduledAt.set(nameOf(after), this.#watched.time.now);
      return;
    }
    if (from.unique !== undefined || from.kind === "control") this.#lives.costs.postponed(after.task_id);
    if (from.unique?.mode !== "debounce") return;
    const most = Date.parse(after.created_at) + (from.unique.maxWaitSeconds ?? 0) * 1000;
    if (Date.parse(after.due_at) > most) this.#lives.violated("unique: it waits longer than its most", after.task_id);
  }

  #claimed(record: TaskRecord): void {
    if (record.unique_key === undefined) return;
    if (!this.#held.has(nameOf(record)))
      this.#lives.violated("unique: it starts, and never had its key", record.task_id);
    // After the life of every message a task starts, whatever was before it.
    const isLast = this.#watched.time.now - Date.parse(record.created_at) >= longestTurnMs;
    for (const { task_id } of record.round > 1 || isLast ? [] : this.#openBefore(record)) {
      this.#lives.violated(`unique: it starts beside ${task_id}, in whose place it was submitted`, record.task_id);
    }
  }

  /** The tasks that had the key of a task before it, and have to be over before it starts, and are not. */
  #openBefore(record: Submitted & { tenant_id: string }): TaskRecord[] {
    const { core, table, time } = this.#watched;
    const open: TaskRecord[] = [];
    const seen = new Set([nameOf(record)]);
    let last: Submitted | undefined = record;
    let mustEnd = this.#restarts.has(nameOf(record)) || this.#waited.has(nameOf(record));
    while (mustEnd) {
      last = this.#before.get(nameOf(last));
      if (last === undefined || seen.has(nameOf(last))) break;
      seen.add(nameOf(last));
      mustEnd = this.#waited.has(nameOf(last));
      const present = table.read({ tenant_id: record.tenant_id, task_id: last.task_id });
      if (present?.created_at !== last.created_at || present.round > 1) continue;
      const isOver = core.status.isTerminal(present.status) || !core.record.isKept(present, time.now);
      if (!isOver) open.push(present);
    }
    return open;
  }

  /** A task that is cancelled before its turn still ends those in whose place it was submitted. */
  #cancelledInLine(before: TaskRecord, after: TaskRecord): void {
    const isInLine = before.status === "pending" && before.waiting_for?.kind === "unique";
    if (!isInLine || after.status !== "cancelled" || !this.#restarts.has(nameOf(after))) return;
    if (!this.#messaged.has(nameOf(after))) return;
    this.#watched.time.after(inLineMs, () => {
      if (!this.#isCalm()) return;
      for (const { status, cancel_requested_at, task_id } of this.#openBefore(after)) {
        const isAsked = status === "processing" && cancel_requested_at !== undefined;
        if (!isAsked)
          this.#lives.violated(`unique: ${task_id} goes on, in whose place it was submitted`, after.task_id);
      }
    });
  }

  /** No task is cancelled for one that may never start. */
  #superseded(before: TaskRecord, after: TaskRecord): void {
    const { superseded_by: successor } = after;
    const isWithdrawn = after.status === "pending" && !this.#watched.core.record.isKept(after, this.#watched.time.now);
    if (isWithdrawn && this.#successors.has(nameOf(after)))
      this.#lives.violated("unique: it is withdrawn, and another task was cancelled for it", after.task_id);
    if (successor === undefined || successor === before.superseded_by) return;
    const record = this.#watched.table.read({ tenant_id: after.tenant_id, task_id: successor });
    if (record === undefined) return;
    this.#successors.add(nameOf(record));
    if (!this.#messaged.has(nameOf(record)) || !this.#watched.core.record.isKept(record, this.#watched.time.now))
      this.#lives.violated("unique: it is cancelled for a task that is not sent", after.task_id);
  }

  /** Each attempt has the input that the task was given last. */
  started(taskId: string, createdAt: string, input: unknown): void {
    const last = this.#given.get(nameOf({ task_id: taskId, created_at: createdAt }))?.at(-1);
    if (last?.input === undefined || input === undefined || last.input === JSON.stringify(input)) return;
    this.#lives.violated("unique: it does not run with the last input", taskId);
  }

  /** True for a task whose inputs these laws watch. */
  watches(taskId: string, createdAt: string): boolean {
    return this.#given.has(nameOf({ task_id: taskId, created_at: createdAt }));
  }

  /** An accepted input is the task's, or was replaced by one that came during its submit or later. */
  accepted({ record, replayed, input, mode, began, cancels }: AcceptedUnique): void {
    const given = this.#given.get(nameOf(record)) ?? [];
    const isGiven = given.some((one) => one.input === input);
    // The submit of a task that took its key since came at the same time, or later.
    const takenAt = this.#takenAt.get(nameOf(record)) ?? 0;
    const isOvertaken = takenAt >= began || given.some(({ at }) => at >= began);
    if (mode === "restart" && cancels) this.#asksToEnd(record);
    const mustHave = !replayed || replacing(mode);
    if (mustHave && !isGiven && !isOvertaken) this.#lives.violated("unique: an accepted input is lost", record.task_id);
  }

  /** When a restart is accepted, those before it are over, or asked to stop. */
  #asksToEnd(record: TaskRecord): void {
    const present = this.#watched.table.read(record);
    if (present?.created_at !== record.created_at || this.#watched.core.status.isTerminal(present.status)) return;
    for (const { status, cancel_requested_at, task_id } of this.#openBefore(record)) {
      const isAsked = status === "processing" && cancel_requested_at !== undefined;
      if (!isAsked)
        this.#lives.violated(`unique: ${task_id}, in whose place it was submitted, goes on`, record.task_id);
    }
  }

  /** The table deleted the item of a key. What a submit joined may be forgotten. */
  forgotten({ tenant_id, type }: UniqueKey, { task_id, created_at }: Holder): void {
    const { core, table, time } = this.#watched;
    const record = table.read({ tenant_id, task_id });
    if (type === "") return;
    const isOther = record === undefined || record.created_at !== created_at || record.round > 1;
    if (isOther || !core.record.isKept(record, time.now)) return;
    const status = core.record.statusAt(record, core.record.iso(time.now));
    if (!core.status.isTerminal(status))
      this.#lives.violated(`unique: the key of a task is gone that is ${status}`, task_id);
  }
}
