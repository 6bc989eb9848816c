import { signal } from "@preact/signals";
import type { ChannelMessage } from "../../src/client/push.ts";
import type { Query } from "../../src/client/transport.ts";
import type { TaskView } from "../../src/core/model/task-view.ts";
import { onMessage } from "./live.ts";
import { api } from "./session.ts";

interface TaskPage {
  tasks: TaskView[];
  next_cursor: string | null;
}

/** Rows that the list keeps. Older ones are dropped while the reader is at the top, and read again when needed. */
const mostRows = 10_000;
const rowsAtTop = 500;

/** Most tasks of an answer. */
const pageRows = 100;

/** Most answers that are read for the newest tasks. */
const mostReads = 10;

/** Shortest time between two reads of the newest tasks, in milliseconds. */
const leastMs = 1_000;

/** Time between two reads of the newest tasks while there are no messages, in milliseconds. */
const everyMs = 5_000;

const newerFirst = (a: TaskView, b: TaskView): number =>
  a.created_at === b.created_at ? (a.task_id < b.task_id ? 1 : -1) : a.created_at < b.created_at ? 1 : -1;

/** True for a task of Offload's own, such as the task that runs an `onFailed`. */
const isOwn = ({ type }: TaskView): boolean => type.startsWith("offload.");

/** Tasks of a filter, newest first, which follow what happens. It reads further pages when they are needed. */
export class TaskList {
  readonly tasks = signal<readonly TaskView[]>([]);
  readonly error = signal<Error | undefined>(undefined);
  readonly loading = signal(true);
  /** Newer tasks that are not in the list yet, because the reader is not at its top. */
  readonly newer = signal<readonly TaskView[]>([]);
  /** True when the last task has been read. */
  readonly complete = signal(false);
  /** Id of the task that the keyboard has chosen. */
  readonly selected = signal<string | undefined>(undefined);
  /** Ids of the tasks that the reader has ticked, for an operation on them. */
  readonly ticked = signal<ReadonlySet<string>>(new Set());
  /** Ids of Offload's own tasks that were read and are not shown. */
  readonly hidden = signal<ReadonlySet<string>>(new Set());
  /** Distance from the top at which the reader was last, in pixels. */
  top = 0;
  readonly #query: Query;
  #ended = new AbortController();
  #cursor: string | undefined;
  #isAtTop = true;
  #reading = false;
  #lastReadMs = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  readonly #showsOwn: boolean;

  /** @param showsOwn True: tasks of the types `offload.*` are in the list, too. */
  constructor(query: Query, showsOwn = false) {
    this.#query = query;
    this.#showsOwn = showsOwn;
  }

  /** Ticks a task, or takes its tick away. */
  tick(taskId: string): void {
    const others = new Set(this.ticked.value);
    if (!others.delete(taskId)) others.add(taskId);
    this.ticked.value = others;
  }

  /** Reads the first page, or what is new, and follows what happens until `stop`. */
  start(): void {
    this.#ended = new AbortController();
    this.#nextMs = Number.POSITIVE_INFINITY;
    this.#ended.signal.addEventListener(
      "abort",
      onMessage((message) => this.#hear(message)),
    );
    void (this.tasks.value.length === 0 ? this.more() : this.#readAgain());
    this.#later(everyMs);
  }

  stop(): void {
    this.#ended.abort();
    clearTimeout(this.#timer);
  }

  /** Hears where the reader is. @param top Distance from the top, in pixels. */
  scrolled(top: number): void {
    this.top = top;
    this.#isAtTop = top < 40;
    if (this.#isAtTop) this.showNewer();
  }

  /** Adds the newer tasks at the top. */
  showNewer(): void {
    if (this.newer.value.length === 0) return;
    const added = this.newer.value;
    this.newer.value = [];
    this.#put([...added, ...this.tasks.value]);
  }

  /** Reads the next page. An answer may be short, so it goes on until there are rows, or the end. */
  async more(): Promise<void> {
    if (this.complete.value || this.tasks.value.length >= mostRows) return;
    await this.#alone(async () => {
      for (let added = 0; added < 20 && !this.complete.value; ) {
        const page = await this.#next();
        added += page.length;
        this.#put([...this.tasks.value, ...page]);
      }
    });
  }

  /** Reads the first rows of a list that was stopped again. The others are read when they are needed. */
  async #readAgain(): Promise<void> {
    const wanted = Math.min(this.tasks.value.length, rowsAtTop);
    await this.#alone(async () => {
      this.#cursor = undefined;
      const rows = await this.#next();
      while (rows.length < wanted && !this.complete.value) rows.push(...(await this.#next()));
      this.#put(rows);
    });
  }

  /** One reader of pages at a time. */
  async #alone(read: () => Promise<void>): Promise<void> {
    if (this.#reading) return;
    this.#reading = true;
    this.loading.value = true;
    const { signal } = this.#ended;
    try {
      await read();
      this.error.value = undefined;
    } catch (error) {
      if (!signal.aborted) this.error.value = error as Error;
    }
    this.#reading = false;
    this.loading.value = false;
  }

  async #next(): Promise<TaskView[]> {
    const { tasks, next_cursor: next } = await this.#read(this.#cursor);
    this.#cursor = next ?? undefined;
    this.complete.value = next === null;
    return tasks;
  }

  async #read(cursor?: string): Promise<TaskPage> {
    const query = { ...this.#query, limit: pageRows, cursor };
    const page = await api.get<TaskPage>("/tasks", query, { signal: this.#ended.signal });
    if (this.#showsOwn) return page;
    const own = page.tasks.filter(isOwn);
    if (own.length > 0) this.hidden.value = new Set([...this.hidden.value, ...own.map(({ task_id }) => task_id)]);
    return { ...page, tasks: page.tasks.filter((task) => !isOwn(task)) };
  }

  /** Replaces the rows: each task once, newest first. */
  #put(tasks: readonly TaskView[]): void {
    const unique = [...new Map(tasks.map((task) => [task.task_id, task])).values()];
    this.tasks.value = this.#query.q === undefined ? unique.sort(newerFirst) : unique;
  }

  /** A message about a known task changes its row at once. The newest tasks are read again soon. */
  #hear(message: ChannelMessage): void {
    if (message.type === "channel.closed") return;
    if (message.type !== "channel.open") {
      const { task_id, status, progress, progress_message = null, outcome } = message;
      const index = this.tasks.value.findIndex((task) => task.task_id === task_id);
      const known = this.tasks.value[index];
      const changed = { status, progress, progress_message, outcome };
      if (known !== undefined) this.tasks.value = this.tasks.value.with(index, { ...known, ...changed });
    }
    this.#later(Math.max(50, leastMs - (Date.now() - this.#lastReadMs)));
  }

  #nextMs = Number.POSITIVE_INFINITY;

  #later(waitMs: number): void {
    const at = Date.now() + waitMs;
    if (at >= this.#nextMs || this.#ended.signal.aborted) return;
    this.#nextMs = at;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#refresh(), waitMs);
  }

  /** Reads the newest tasks: new ones come to the top, known ones get their present state. */
  async #refresh(): Promise<void> {
    this.#nextMs = Number.POSITIVE_INFINITY;
    this.#lastReadMs = Date.now();
    try {
      if (!document.hidden && !this.#reading) this.#merge(await this.#newest());
      this.error.value = undefined;
    } catch (error) {
      if (!this.#ended.signal.aborted) this.error.value = error as Error;
    }
    this.#later(everyMs);
  }

  /**
   * The newest tasks, as many as the list has or a page has. Where few match, an answer may have none of them and not
   * be the last.
   */
  async #newest(): Promise<TaskPage> {
    const page = await this.#read();
    if (this.#query.q !== undefined) return page;
    const wanted = Math.min(this.tasks.value.length, pageRows);
    for (let reads = 1; reads < mostReads && page.tasks.length < wanted && page.next_cursor !== null; reads++) {
      const { tasks, next_cursor: next } = await this.#read(page.next_cursor);
      page.tasks.push(...tasks);
      page.next_cursor = next;
    }
    return page;
  }

  #merge({ tasks: newest, next_cursor: next }: TaskPage): void {
    const read = new Map(newest.map((task) => [task.task_id, task]));
    const known = new Set(this.tasks.value.map(({ task_id }) => task_id));
    const added = newest.filter(({ task_id }) => !known.has(task_id));
    // Tasks within the span of the answer that are not in it no longer match the filter. Of tasks of one instant, some
    // can be on the next page.
    const oldest = newest.at(-1);
    const stays = (task: TaskView) =>
      read.has(task.task_id) ||
      (next !== null && (this.#query.q !== undefined || oldest === undefined || task.created_at <= oldest.created_at));
    const rows = this.tasks.value.filter(stays).map((task) => read.get(task.task_id) ?? task);
    if (this.#isAtTop) {
      const most = Math.max(rowsAtTop, read.size);
      const all = [...added, ...rows];
      if (all.length > most + rowsAtTop) this.#trim(all, most);
      else this.#put(all);
    } else {
      this.#put(rows);
      const seen = new Set(this.newer.value.map(({ task_id }) => task_id));
      this.newer.value = [...added.filter(({ task_id }) => !seen.has(task_id)), ...this.newer.value].slice(
        0,
        rowsAtTop,
      );
    }
  }

  /**
   * Drops the oldest rows, so that a page that is open for days does not grow. They are read again from the first page
   * on.
   */
  #trim(all: readonly TaskView[], most: number): void {
    this.#put(all.slice(0, most));
    this.#cursor = undefined;
    this.complete.value = false;
  }
}
