import type { Lines, WantedSlot } from "../../ports/flow.ts";
import type { Clock } from "../../ports/tasks.ts";
import type { FlowBook } from "./flow-book.ts";

/** Starts that are taken by one write are at most this far apart, in milliseconds. */
const togetherMs = 50;

interface StartPorts {
  lines: Pick<Lines, "takeSlot">;
  clock: Pick<Clock, "now">;
}

interface Question {
  want: WantedSlot;
  answer: PromiseWithResolvers<number | undefined>;
}

/**
 * Takes starts of rates. Tasks of a process that ask while a start is taken get theirs by the next write, which takes
 * one for each: each start of a fast rate would otherwise be a write of one item, which takes a thousand a second.
 */
export class JoinedStarts {
  /** The questions that wait while a write runs. */
  readonly #waiting = new Map<string, Question[]>();

  /**
   * @returns Epoch milliseconds of the start, as `takeSlot` answers it.
   * @throws PortUnavailable
   */
  take(ports: StartPorts, line: string, want: WantedSlot): Promise<number | undefined> {
    const { intervalMs, aheadMs } = want;
    const most = 1 + Math.floor(togetherMs / intervalMs);
    if (most === 1) return ports.lines.takeSlot(line, want);
    const answer = Promise.withResolvers<number | undefined>();
    const key = `${aheadMs} ${intervalMs} ${line}`;
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) void this.#answer(ports, { line, key, most }, [{ want, answer }]);
    else waiting.push({ want, answer });
    return answer.promise;
  }

  /** The process takes starts until no question is left: further tasks ask meanwhile. */
  async #answer(
    ports: StartPorts,
    { line, key, most }: { line: string; key: string; most: number },
    waiting: Question[],
  ): Promise<void> {
    this.#waiting.set(key, waiting);
    while (waiting.length > 0) {
      const groups: Question[][] = [];
      while (waiting.length > 0) groups.push(waiting.splice(0, most));
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
    const slotMs = await lines.takeSlot(line, { ...want, nowMs, count: questions.length });
    for (const [index, { answer }] of questions.entries())
      answer.resolve(slotMs === undefined ? undefined : slotMs + index * want.intervalMs);
  } catch (error) {
    for (const { answer } of questions) answer.reject(error);
  }
}

const all = new WeakMap<FlowBook, JoinedStarts>();

/** The starts of a process, which has one book. */
export function startsOf(flow: FlowBook): JoinedStarts {
  const starts = all.get(flow) ?? new JoinedStarts();
  all.set(flow, starts);
  return starts;
}
