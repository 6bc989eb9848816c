/*
 * Processes that users start, such as `offload work`, follow the clock of a server by asking again and again. A
 * question says the time that the process has, and whether it works; it is answered when the clock moves, or after a
 * while.
 */

/** The longest wait of a question, in milliseconds. */
const askMs = 5_000;

/** A process that has asked nothing for this time is gone, in milliseconds. */
const goneMs = askMs + 3_000;

/** The longest wait for a process to say that it has the new time, in milliseconds. */
const answerMs = 1_000;

/** A question of a process, with its facts. */
export interface Ask {
  /** Made by the process at its start. */
  id: string;
  /** Time by which its clock is ahead of the machine's, in milliseconds. */
  aheadMs: number;
  /** It runs attempts. */
  works: boolean;
}

interface Distant extends Ask {
  /** `performance.now()` of its newest question. */
  askedAt: number;
  answer: (aheadMs: number) => void;
  /** Called with its next question. */
  asks: () => void;
}

const all = new Map<string, Distant>();

/** The time that the processes have been told last, in milliseconds. Undefined: nothing yet. */
let told: number | undefined;

const forgetGone = (): void => {
  for (const [id, { askedAt }] of all) if (performance.now() - askedAt > goneMs) all.delete(id);
};

/** True when a process that a user started may take tasks. */
export const hasDistant = (): boolean => {
  forgetGone();
  return all.size > 0;
};

/** True when an attempt runs in a process that a user started. */
export const distantWorks = (): boolean => hasDistant() && [...all.values()].some(({ works }) => works);

/**
 * Answers a process with what the server's clock is ahead of the machine's, in milliseconds: as soon as that is another
 * than the process has.
 * @param movedMs That of now.
 */
export function answerDistant(ask: Ask, movedMs: number): Promise<number> {
  const before = all.get(ask.id);
  const known = told ?? movedMs;
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(known), askMs).unref();
    const answer = (aheadMs: number) => {
      clearTimeout(timer);
      resolve(aheadMs);
    };
    all.set(ask.id, { ...ask, answer, asks: () => {}, askedAt: performance.now() });
    before?.answer(known);
    before?.asks();
    if (ask.aheadMs !== known) answer(known);
  });
}

/** Tells the processes that users started a time, and waits until they have it. A late process has it later. */
export async function tellDistant(aheadMs: number): Promise<void> {
  told = aheadMs;
  forgetGone();
  await Promise.all([...all.values()].map((one) => tell(one, aheadMs)));
}

function tell(one: Distant, aheadMs: number): Promise<void> {
  if (one.aheadMs === aheadMs) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, answerMs);
    one.asks = () => {
      clearTimeout(timer);
      resolve();
    };
    one.answer(aheadMs);
  });
}
