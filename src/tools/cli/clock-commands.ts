import { setTimeout as sleep } from "node:timers/promises";
import { type ClockOrder, ClockRefused, orderClock, readClock, stopClock } from "../../installed/server-clock.ts";
import { durationSeconds } from "../../util/duration.ts";
import { hasGoneOnAt, nextTimeOf } from "../../util/next-time.ts";
import { parseTime } from "../../util/time-text.ts";
import { span } from "./age.ts";
import type { Answer } from "./answer.ts";
import { type Connection, clientOf, connection } from "./connection.ts";
import type { Register } from "./group.ts";
import { CommandFailed, plain, type Terminal, UsageError } from "./terminal.ts";

/** Time between two looks at a move, in milliseconds. */
const lookMs = 500;

const examples = `
Moves the clock of a local server: delays, retries, schedules, sleeps, expiry and all else that waits happens as if the time
had passed, each at its time. It only goes forward. The time that it is ahead is kept with the server's data. Ctrl-C ends a
move where it is. A deployment has no such clock.

Examples:
  npx offload clock                              the server's time
  npx offload clock +2d                          also +90m, +36h, +1w, "+1d 12h"
  npx offload clock 2027-03-28T00:59:50Z         to this time
  npx offload clock --until 018f3a1c-...         until this task goes on: its delay, retry, sleep or wait is over
  npx offload clock reset                        back to the machine's time; needs a server without tasks
`;

const own = [
  ["[time]", "a duration such as +2d, a time in ISO 8601, or `reset`. Default: the time is shown"],
  ["--until <task>", "move until this task goes on"],
] as const;

/** `offload clock` */
export const register: Register = (group) => {
  group.help(examples).does([...connection, ...own], async (options, time) => {
    if (time !== undefined && options.until !== undefined) throw new UsageError("give a time or --until, not both");
    const order = options.until === undefined ? orderOf(time) : { at: await clockTimeOf(options, options.until) };
    try {
      return order === undefined ? await shown(options.url) : await give(group.terminal, options, order);
    } catch (error) {
      throw explained(error, options.url);
    }
  });
};

async function shown(url: string): Promise<Answer> {
  const clock = await readClock(url);
  const { ahead_seconds: ahead, moving } = clock;
  return {
    json: clock,
    text: `${clock.now}  ${ahead === 0 ? "the machine's time" : `${span(ahead)} ahead of the machine's`}`,
    hint: moving === null ? undefined : `It moves to ${moving.to}.${waits(moving.waits_for)}`,
  };
}

/** Sends an order, and shows the way of the clock until it is done. */
async function give(terminal: Terminal, { url, json }: Connection, order: ClockOrder): Promise<Answer> {
  const watching = new AbortController();
  const stopListening = terminal.onInterrupt(() => void stopClock(url).catch(() => {}));
  const watched = watch(terminal, url, watching.signal);
  const moved = await orderClock(url, order).finally(async () => {
    stopListening();
    watching.abort();
    await watched;
    terminal.endProgress();
  });
  if ("reset" in order) return { json: moved, text: `${moved.now}  the machine's time` };
  const now = `It is ${moved.now}, ${span(moved.ahead_seconds)} ahead of the machine's time.`;
  return {
    json: moved,
    text: `${moved.summary}\n${now}`,
    failure: moved.arrived || json ? undefined : "the move was stopped on its way",
  };
}

async function watch(terminal: Terminal, url: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    await sleep(lookMs, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    const { now, moving } = (await readClock(url).catch(() => undefined)) ?? { moving: null };
    if (moving !== null && !signal.aborted)
      terminal.progress(`${now} on its way to ${moving.to}.${waits(moving.waits_for)}`);
  }
}

const waits = (what: string | null): string => (what === null ? "" : ` It waits for ${plain(what)}.`);

/** @throws UsageError */
function orderOf(time: string | undefined): ClockOrder | undefined {
  if (time === undefined) return undefined;
  if (time === "reset") return { reset: true };
  const seconds = time.startsWith("+") ? durationSeconds(time.slice(1)) : undefined;
  if (seconds !== undefined) return { advance_seconds: seconds };
  const at = parseTime(/^\d{4}-\d\d-\d\d$/.test(time) ? `${time}T00:00Z` : time);
  if (typeof at === "number") return { at: new Date(at).toISOString() };
  const expected = "+2d, +90m, 2027-03-28, 2027-03-28T00:59:50Z or reset";
  throw new UsageError(`${JSON.stringify(time)} is no time to move to: expected one such as ${expected}`);
}

/** The time at which a waiting task has gone on. @throws CommandFailed for a task that waits for no time */
async function clockTimeOf(options: Connection, id: string): Promise<string> {
  const task = await clientOf(options).status(id);
  const next = nextTimeOf(task);
  if (next !== undefined) return hasGoneOnAt(next);
  throw new CommandFailed(`the task ${plain(id)} waits for no time: it is ${task.status}`);
}

function explained(error: unknown, url: string): unknown {
  if (error instanceof ClockRefused) {
    const isOther = error.status === 404 || error.status === 401 || error.status === 403;
    return new CommandFailed(isOther ? `${url} is no local server: only that has a clock that moves` : error.message);
  }
  if ((error as NodeJS.ErrnoException).code !== "ECONNREFUSED") return error;
  return new CommandFailed(`nothing listens at ${url}; \`npx offload start\` starts a local server`);
}
