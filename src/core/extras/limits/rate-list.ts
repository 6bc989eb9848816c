import type { CountedTokens, WaitQueueState, WaitQueues, WantedToken } from "../../ports/flow.ts";
import type { Clock } from "../../ports/tasks.ts";
import type { FlowBook } from "./flow-book.ts";
import { maxTries } from "./wait-queue-ports.ts";

/** A rate of a list whose starts are counted, and not spaced. */
export interface CountedRate {
  /** Starts in each time of this length. */
  limit: number;
  perSeconds: number;
  /** Milliseconds in which the starts are given: the rate's time, and that by which a start may be late. */
  lengthMs: number;
}

/** The rate of a list that spaces its starts. */
interface SpacedRate {
  perSeconds: number;
  /** Milliseconds between two starts. */
  intervalMs: number;
}

/** Starts that are given together. */
interface Given {
  /** Epoch milliseconds of the first one. */
  slotMs: number;
  count: number;
}

/** The starts of a part of a rate's time. */
interface Part {
  /** Epoch milliseconds of the last one. */
  lastMs: number;
  count: number;
}

/**
 * The starts of a rate are counted in this many parts of its time. All starts of a part count until its last one is as
 * old as the rate's time, so that no time of that length has more starts than the limit, wherever it begins.
 */
const partsOfTime = 16;

/** Further parts are older than the rate's time, and that by which a start may be late. */
const maxParts = partsOfTime + 2;

/** A start that is noted for a time further ahead, in milliseconds, has been noted by a clock that is wrong. */
const wrongMs = 86_400_000;

/**
 * The rates of a list whose starts are counted: all but that of the shortest time, which spaces them. One write gives a
 * start by all rates, or by none.
 */
export class RateList {
  readonly #counted: readonly CountedRate[];
  readonly #spaced: SpacedRate;

  constructor(counted: readonly CountedRate[], spaced: SpacedRate) {
    this.#counted = counted;
    this.#spaced = spaced;
  }

  /** The first time from `fromMs` on at which all rates allow `count` starts. */
  freeFrom({ starts }: WaitQueueState, fromMs: number, count = 1): number {
    return Math.max(...this.#counted.map((rate) => freeOf(starts?.parts, rate, fromMs, count)));
  }

  /** The starts that all counted rates allow at a time. */
  roomAt({ starts }: WaitQueueState, atMs: number): number {
    return Math.min(...this.#counted.map((rate) => rate.limit - countAt(starts?.parts, rate, atMs)));
  }

  /** The counted starts of a line with these. */
  after({ starts }: WaitQueueState, { slotMs, count }: Given): CountedTokens {
    const { intervalMs, perSeconds } = this.#spaced;
    const nextMs = slotMs + Math.max(1, count) * intervalMs;
    const lastMs = Math.ceil(nextMs - intervalMs);
    const own = this.#counted.map((rate) => [rate.perSeconds, withPart(starts?.parts, rate, { lastMs, count })]);
    const parts = { ...this.#othersIn(starts, lastMs), ...Object.fromEntries(own) };
    const free = this.#counted.map((rate) => ({ atMs: freeOf(parts, rate, nextMs, 1), by: rate.perSeconds }));
    const { atMs, by } = free.reduce((last, one) => (one.atMs > last.atMs ? one : last), {
      atMs: nextMs,
      by: perSeconds,
    });
    return { parts, free_ms: Math.ceil(atMs), free_by: by };
  }

  /** The counted starts of rates that another release of the type has. */
  #othersIn(starts: CountedTokens | undefined, nowMs: number): CountedTokens["parts"] {
    const own = new Set(this.#counted.map(({ perSeconds }) => String(perSeconds)));
    const isFresh = (time: string, numbers: readonly number[]) => (numbers.at(-2) ?? 0) > nowMs - 1000 * Number(time);
    const others = Object.entries(starts?.parts ?? {}).filter(([time, of]) => !own.has(time) && isFresh(time, of));
    return Object.fromEntries(others);
  }

  /**
   * Acquires tokens as `acquireToken` does of one rate: by a look at the line, and one write that changes nothing when
   * another start was given since. Where that happens again and again, the task waits in the line.
   */
  over(lines: Pick<WaitQueues, "state" | "acquireTokens">): Pick<WaitQueues, "acquireToken"> {
    return {
      acquireToken: async (line, { nowMs, intervalMs, aheadMs, count = 1 }) => {
        for (let tries = 0; tries < maxTries; tries++) {
          const state = await lines.state(line);
          const slotMs = this.freeFrom(state, Math.max(nowMs, state.nextTokenMs ?? 0), count);
          if (slotMs > nowMs + aheadMs) return undefined;
          const starts = this.after(state, { slotMs, count });
          if (await lines.acquireTokens(line, state.nextTokenMs, slotMs + count * intervalMs, starts)) return slotMs;
        }
        return undefined;
      },
    };
  }

  /**
   * Moves the last start that was given, after which `seenMs` was the next one, to `toMs`. Changes nothing and returns
   * false when a later one was given since. The part that has counted the start counts for longer.
   */
  async move(
    lines: Pick<WaitQueues, "state" | "acquireTokens">,
    line: string,
    { seenMs, toMs }: { seenMs: number; toMs: number },
  ): Promise<boolean> {
    const state = await lines.state(line);
    if (state.nextTokenMs !== seenMs) return false;
    const starts = this.after(state, { slotMs: toMs, count: 0 });
    return lines.acquireTokens(line, seenMs, toMs + this.#spaced.intervalMs, starts);
  }
}

type Parts = CountedTokens["parts"];

/** The parts of a rate's time in which starts were given, the oldest one first. */
const partsIn = (parts: Parts | undefined, { perSeconds }: CountedRate): Part[] => {
  const numbers = parts?.[perSeconds] ?? [];
  return Array.from({ length: numbers.length / 2 }, (_, index) => ({
    lastMs: numbers[2 * index] ?? 0,
    count: numbers[2 * index + 1] ?? 0,
  }));
};

/** Epoch milliseconds until which the starts of a part count. */
const countsUntilMs = ({ lastMs }: Part, { lengthMs }: CountedRate, atMs: number): number =>
  lastMs > atMs + wrongMs ? atMs : lastMs + lengthMs;

/** The starts of a rate that count at a time. */
const countAt = (parts: Parts | undefined, rate: CountedRate, atMs: number): number =>
  partsIn(parts, rate).reduce((sum, part) => (countsUntilMs(part, rate, atMs) > atMs ? sum + part.count : sum), 0);

/** The first time from `fromMs` on at which a rate allows `count` starts. */
function freeOf(parts: Parts | undefined, rate: CountedRate, fromMs: number, count: number): number {
  if (count > rate.limit) return Number.POSITIVE_INFINITY;
  let given = countAt(parts, rate, fromMs);
  let atMs = fromMs;
  for (const part of partsIn(parts, rate)) {
    if (given + count <= rate.limit) break;
    const untilMs = countsUntilMs(part, rate, fromMs);
    if (untilMs <= fromMs) continue;
    given -= part.count;
    atMs = untilMs;
  }
  return atMs;
}

/**
 * The parts of a rate with these starts. Of none, its last start is moved. No start is noted before an earlier start:
 * by a clock that is late it would count for too short a time.
 */
function withPart(parts: Parts | undefined, rate: CountedRate, { lastMs, count }: Part): number[] {
  const known = partsIn(parts, rate);
  const newest = known.at(-1);
  const partOf = (ms: number) => Math.floor((ms * partsOfTime) / rate.lengthMs);
  const atMs = newest === undefined || newest.lastMs > lastMs + wrongMs ? lastMs : Math.max(newest.lastMs, lastMs);
  const isSame = newest !== undefined && (count === 0 || partOf(newest.lastMs) === partOf(atMs));
  const next = isSame
    ? [...known.slice(0, -1), { lastMs: atMs, count: newest.count + count }]
    : [...known, { lastMs: atMs, count }];
  return next.slice(-maxParts).flatMap((part) => [part.lastMs, part.count]);
}

/** Starts that are taken by one write are at most this far apart, in milliseconds. */
const togetherMs = 50;

interface StartPorts {
  lines: Pick<WaitQueues, "acquireToken">;
  clock: Pick<Clock, "now">;
}

interface Question {
  want: WantedToken;
  answer: PromiseWithResolvers<number | undefined>;
}

/**
 * Takes starts of rates. Tasks of a process that ask while a start is taken get theirs by the next write, which takes
 * one for each: each start of a fast rate would otherwise be a write of one item, which takes a thousand a second.
 */
export class JoinedTokens {
  /** The questions that wait while a write runs. */
  readonly #waiting = new Map<string, Question[]>();

  /**
   * @returns Epoch milliseconds of the start, as `acquireToken` answers it.
   * @throws PortUnavailable
   */
  take(ports: StartPorts, line: string, want: WantedToken): Promise<number | undefined> {
    const { intervalMs, aheadMs } = want;
    const max = 1 + Math.floor(togetherMs / intervalMs);
    if (max === 1) return ports.lines.acquireToken(line, want);
    const answer = Promise.withResolvers<number | undefined>();
    const key = `${aheadMs} ${intervalMs} ${line}`;
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) void this.#answer(ports, { line, key, max }, [{ want, answer }]);
    else waiting.push({ want, answer });
    return answer.promise;
  }

  /** The process takes starts until no question is left: further tasks ask meanwhile. */
  async #answer(
    ports: StartPorts,
    { line, key, max }: { line: string; key: string; max: number },
    waiting: Question[],
  ): Promise<void> {
    this.#waiting.set(key, waiting);
    while (waiting.length > 0) {
      const groups: Question[][] = [];
      while (waiting.length > 0) groups.push(waiting.splice(0, max));
      await Promise.all(groups.map((questions) => answerAll(ports, line, questions)));
    }
    this.#waiting.delete(key);
  }
}

async function answerAll({ lines, clock }: StartPorts, line: string, questions: readonly Question[]): Promise<void> {
  const [{ want }] = questions as [Question];
  try {
    // The questions have waited: a start before now would be late.
    const nowMs = Math.max(want.nowMs, clock.now());
    const slotMs = await lines.acquireToken(line, { ...want, nowMs, count: questions.length });
    for (const [index, { answer }] of questions.entries())
      answer.resolve(slotMs === undefined ? undefined : slotMs + index * want.intervalMs);
  } catch (error) {
    for (const { answer } of questions) answer.reject(error);
  }
}

const all = new WeakMap<FlowBook, JoinedTokens>();

/** The starts of a process, which has one book. */
export function startsOf(flow: FlowBook): JoinedTokens {
  const starts = all.get(flow) ?? new JoinedTokens();
  all.set(flow, starts);
  return starts;
}
