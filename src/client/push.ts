import type { TaskMessage } from "../core/notify/push-notice.ts";
import type { FileParts } from "./late-parts.ts";
import type { Transport } from "./transport.ts";

/**
 * A message about a task; or that the channel is open, for the first time or again, or closed. Messages that were sent
 * while it was not open are lost: read the status of your tasks when it opens.
 */
export type ChannelMessage = TaskMessage | { type: "channel.open" } | { type: "channel.closed" };

/** The options of `subscribe`. */
export interface SubscribeOptions {
  /**
   * `own`: tasks that this key or user submitted. `tenant`: all tasks of the tenant, which requires the role operator.
   * Default: `own`.
   */
  scope?: "own" | "tenant" | undefined;
  /** Ends the iteration with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** Time between two pings: API Gateway closes a connection without messages after 10 minutes. Milliseconds. */
const pingEveryMs = 480_000;

/** A connection that does not open, or does not answer a ping, in this time is closed. Milliseconds. */
const answerMs = 20_000;

/** A connection that was open for this time worked: the waits before the next one start again. Milliseconds. */
const goodMs = 30_000;

/** Messages that wait for a slow reader. With more the connection is closed, and the reader told so. */
const mostWaiting = 1_000;

/**
 * Iterates over the messages of a channel. Opens a new one whenever the connection ends, after growing random waits.
 */
export async function* subscribe(
  parts: FileParts,
  transport: Transport,
  { scope = "own", signal = new AbortController().signal }: SubscribeOptions = {},
): AsyncGenerator<ChannelMessage, void, undefined> {
  if (typeof WebSocket === "undefined") throw new TypeError("this runtime has no WebSocket; Node has it from 22 on");
  const [, sleep, randomWaitMs] = parts;
  for (let tries = 1; ; tries++) {
    const url = await newUrl(transport, scope, signal);
    const startedAt = Date.now();
    if (url !== undefined) yield* messagesOf(url, sleep, signal);
    if (signal.aborted) throw signal.reason ?? new Error("aborted");
    if (Date.now() - startedAt > goodMs) tries = 1;
    await sleep(randomWaitMs(tries), signal);
  }
}

/** Opens a channel. Undefined: it cannot be opened now. @throws ProblemError for a refusal that will not pass */
async function newUrl(transport: Transport, scope: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    return (await transport.post<{ url: string }>("/channels", { scope }, { signal })).url;
  } catch (error) {
    const { status } = error as { status?: number };
    const final = status !== undefined && status < 500 && status !== 408 && status !== 429;
    if (final || signal.aborted) throw error;
    return undefined;
  }
}

/** Iterates over the messages of one connection, until its end. */
async function* messagesOf(
  url: string,
  sleep: FileParts[1],
  signal: AbortSignal,
): AsyncGenerator<ChannelMessage, void, undefined> {
  const socket = new WebSocket(url);
  const ended = new AbortController();
  const end = () => ended.abort();
  const waiting: ChannelMessage[] = [];
  let wake = () => {};
  let opened = false;
  let heard = false;
  const add = (message: ChannelMessage) => {
    if (ended.signal.aborted) return;
    if (waiting.push(message) > mostWaiting) end();
    wake();
  };
  socket.addEventListener("open", () => {
    opened = true;
    add({ type: "channel.open" });
  });
  socket.addEventListener("message", ({ data }) => {
    const message = parsed(data);
    heard = true;
    if (message?.type.startsWith("task.")) add(message);
  });
  for (const event of ["close", "error"] as const) socket.addEventListener(event, end);
  signal.addEventListener("abort", end);
  ended.signal.addEventListener("abort", () => wake());
  const beat = async () => {
    for (let waitMs = answerMs; ; waitMs = pingEveryMs) {
      await sleep(waitMs, ended.signal);
      if (!opened) return end();
      heard = false;
      socket.send('{"type":"ping"}');
      await sleep(answerMs, ended.signal);
      if (!heard) return end();
    }
  };
  // Rejects at the end of the connection.
  beat().catch(end);
  try {
    for (;;) {
      yield* waiting.splice(0);
      if (ended.signal.aborted || signal.aborted) break;
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (waiting.length > 0 || ended.signal.aborted) resolve();
      });
    }
    socket.close();
    if (opened && !signal.aborted) yield { type: "channel.closed" };
  } finally {
    end();
    signal.removeEventListener("abort", end);
    socket.close();
  }
}

function parsed(data: unknown): TaskMessage | undefined {
  try {
    const message = JSON.parse(String(data));
    return typeof message?.type === "string" ? message : undefined;
  } catch {
    return undefined;
  }
}
