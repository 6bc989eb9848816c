import type { TaskView } from "../core/model/task-view.ts";
import type { TaskMessage } from "../core/notify/push-notice.ts";
import type { FileParts } from "./late-parts.ts";
import type { isEnd, Poll, pollOf } from "./poll.ts";
import { type ChannelMessage, subscribe } from "./push.ts";
import type { Transport } from "./transport.ts";

/** Parts of `poll.ts`, which are handed over for the reason that `FileParts` has. */
export type PollParts = readonly [read: typeof pollOf, isEnd: typeof isEnd];

/** While the channel is open, a task is read at least this often, in milliseconds: a message can get lost. */
const safetyMs = 30_000;

/**
 * After the channel has opened, a task is read a second time after this wait, in milliseconds: the first answer can be
 * a second old.
 */
const secondReadMs = 2_000;

/** A task whose end was announced is read again after this wait, in milliseconds, for the same reason. */
const endReadMs = 1_000;

/**
 * A channel that no call uses stays open for this time, in milliseconds, for a program that waits for one task after
 * another.
 */
const lingerMs = 1_000;

type ChannelState = "channel.open" | "channel.closed";

/** News of one task: messages, and the state of the channel. */
class Ear {
  #taskId: string;
  readonly #news: (TaskMessage | ChannelState)[] = [];
  #wake = () => {};

  constructor(taskId: string) {
    this.#taskId = taskId;
  }

  /** The task was named by its key: its messages have its id. */
  knows({ task_id }: TaskView): void {
    this.#taskId = task_id;
  }

  hear(message: ChannelMessage): void {
    if ("task_id" in message && message.task_id !== this.#taskId) return;
    this.#news.push("task_id" in message ? message : message.type);
    this.#wake();
  }

  /** Waits for news. Undefined: none came in this time. Rejects with the signal's reason. */
  async next(ms: number, signal: AbortSignal): Promise<TaskMessage | ChannelState | undefined> {
    await new Promise<void>((resolve, reject) => {
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        if (signal.aborted) reject(signal.reason);
        else resolve();
      };
      const timer = setTimeout(done, ms);
      signal.addEventListener("abort", done);
      this.#wake = done;
      if (signal.aborted || this.#news.length > 0) done();
    });
    return this.#news.shift();
  }
}

/** One channel for all tasks that a client waits for. Without one, the calls poll. */
class Hub {
  open = false;
  /** True when the deployment refuses channels. */
  #refused = false;
  #running: AbortController | undefined;
  #linger: ReturnType<typeof setTimeout> | undefined;
  readonly #ears = new Set<Ear>();
  readonly #messages: (signal: AbortSignal) => AsyncIterable<ChannelMessage>;

  constructor(messages: (signal: AbortSignal) => AsyncIterable<ChannelMessage>) {
    this.#messages = messages;
  }

  add(ear: Ear): void {
    this.#ears.add(ear);
    clearTimeout(this.#linger);
    if (this.#refused || this.#running !== undefined) return;
    this.#running = new AbortController();
    void this.#listen(this.#running.signal);
  }

  remove(ear: Ear): void {
    if (!this.#ears.delete(ear) || this.#ears.size > 0) return;
    this.#linger = setTimeout(() => {
      this.#running?.abort();
      this.#running = undefined;
      this.open = false;
    }, lingerMs);
  }

  async #listen(signal: AbortSignal): Promise<void> {
    try {
      for await (const message of this.#messages(signal)) {
        if (signal.aborted) return;
        if (!("task_id" in message)) this.open = message.type === "channel.open";
        for (const ear of this.#ears) ear.hear(message);
      }
    } catch {
      if (!signal.aborted) this.#refused = true;
    }
  }
}

const hubs = new WeakMap<Transport, Hub>();

function hubOf(parts: FileParts, transport: Transport): Hub {
  const known = hubs.get(transport) ?? new Hub((signal) => subscribe(parts, transport, { signal }));
  hubs.set(transport, known);
  return known;
}

/** The task as far as it is known. */
class Known {
  task: TaskView | undefined;

  /**
   * Takes a newer state, and returns it. An older one, which a late message or a replica of the table can have, is
   * ignored.
   */
  *take(state: TaskView | undefined): Generator<TaskView, void, undefined> {
    const { task } = this;
    if (state === undefined || (task !== undefined && state.updated_at < task.updated_at)) return;
    this.task = state;
    if (JSON.stringify(state) !== JSON.stringify(task)) yield state;
  }
}

/**
 * Follows a task until its end, as `changesOf` does. Where a channel can be opened, it hears of changes, and reads the
 * task rarely. The answers of the API stay the truth: a message about an end makes it read the task.
 */
export async function* follow(
  parts: FileParts,
  [read, isEnd]: PollParts,
  transport: Transport,
  { taskId, firstWaitMs, pollMs = Infinity }: Poll,
  signal: AbortSignal,
): AsyncGenerator<TaskView, void, undefined> {
  const hub = hubOf(parts, transport);
  const ear = new Ear(taskId);
  const known = new Known();
  let [id, etag, soonMs]: [string, string | undefined, number] = [taskId, undefined, Infinity];
  try {
    if (firstWaitMs > 0) await parts[1](firstWaitMs, signal);
    for (;;) {
      const { task, ...answer } = await transport.call(read(id, etag), { signal });
      etag = answer.etag ?? etag;
      if (task !== undefined) ear.knows(task);
      id = task?.task_id ?? id;
      yield* known.take(task);
      if (task !== undefined && isEnd(task)) return;
      hub.add(ear);
      const next = () => ear.next(Math.min(hub.open ? safetyMs : answer.waitMs, soonMs, pollMs), signal);
      let news = await next();
      for (; typeof news === "object" && !isEnd(news); news = await next()) {
        yield* known.take(stateAfter(known.task, news));
      }
      soonMs = soonAfter(news);
    }
  } finally {
    hub.remove(ear);
  }
}

const stateAfter = (task: TaskView | undefined, message: TaskMessage): TaskView | undefined => {
  const { status, progress, progress_message = null, progress_data = null, at } = message;
  return task && { ...task, status, progress, progress_message, progress_data, updated_at: at };
};

/** Time until the read after the next one, in milliseconds. */
function soonAfter(news: TaskMessage | ChannelState | undefined): number {
  if (news === "channel.open") return secondReadMs;
  return typeof news === "object" ? endReadMs : Infinity;
}
