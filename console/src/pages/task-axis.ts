/** Something that went on from one instant to another, in epoch milliseconds. */
export interface Span {
  fromMs: number;
  toMs: number;
  /** True when nothing ran in it. A long wait is folded, so that milliseconds and hours can be seen together. */
  isWait: boolean;
}

/** A wait that is shown shorter than it was. Places are shares of the width, 0 to 100. */
export interface Fold {
  from: number;
  to: number;
  ms: number;
}

/** The one axis of a timeline. */
export interface Axis {
  fromMs: number;
  toMs: number;
  /** The place of an instant, 0 to 100. */
  at: (ms: number) => number;
  folds: readonly Fold[];
}

/** A folded wait is as wide as this share of all that ran. */
const foldedShare = 0.25;

/** Where nothing ran, a folded wait is so many times as wide as the shortest one. */
const foldedTimes = 4;

/** Instants of spans, more than a timeline has lines for: each one after them is on the axis, but folds nothing. */
const mostInstants = 2_000;

/** The axis of some spans. @param folds False: the true time, without folds. */
export function axisOf(spans: readonly Span[], folds: boolean): Axis {
  const instants = [...new Set(spans.flatMap(({ fromMs, toMs }) => [fromMs, toMs]))].sort((a, b) => a - b);
  const fromMs = instants[0] ?? 0;
  const toMs = Math.max(instants.at(-1) ?? 0, fromMs + 1);
  const places = folds && instants.length <= mostInstants ? folded(instants, spans) : [fromMs, toMs].map(trueTime);
  const whole = places.at(-1)?.place || 1;
  const share = (place: number) => (100 * place) / whole;
  const at = (ms: number): number => {
    const next = places.findIndex((one) => one.ms >= ms);
    const [before, after] = [places[next - 1], places[next]];
    if (after === undefined) return ms <= fromMs ? 0 : 100;
    if (before === undefined) return 0;
    const part = (ms - before.ms) / (after.ms - before.ms);
    return share(before.place + part * (after.place - before.place));
  };
  const shown = places.flatMap(({ ms, place, isFolded }, index): Fold[] => {
    const before = places[index - 1];
    return isFolded && before ? [{ from: share(before.place), to: share(place), ms: ms - before.ms }] : [];
  });
  return { fromMs, toMs, at, folds: shown };
}

/** An instant, and its place in units of the axis. */
interface Place {
  ms: number;
  place: number;
  /** True when the time before it is folded. */
  isFolded: boolean;
}

const trueTime = (ms: number, _: number, [from = 0]: readonly number[]): Place => ({
  ...{ ms, place: ms - from, isFolded: false },
});

function folded(instants: readonly number[], spans: readonly Span[]): Place[] {
  const runs = merged(spans.filter(({ isWait }) => !isWait));
  let next = 0;
  const parts = instants.slice(1).map((ms, index) => {
    const before = instants[index] ?? ms;
    while ((runs[next]?.toMs ?? Number.POSITIVE_INFINITY) <= before) next++;
    return { ms, lengthMs: ms - before, isRun: (runs[next]?.fromMs ?? Number.POSITIVE_INFINITY) <= before };
  });
  const ranMs = parts.reduce((sum, { isRun, lengthMs }) => sum + (isRun ? lengthMs : 0), 0);
  const shortestMs = Math.min(...parts.map(({ lengthMs }) => lengthMs));
  const mostMs = ranMs === 0 ? shortestMs * foldedTimes : Math.max(1, ranMs * foldedShare);
  let place = 0;
  const first: Place = { ms: instants[0] ?? 0, place: 0, isFolded: false };
  const rest = parts.map(({ ms, lengthMs, isRun }): Place => {
    const isFolded = !isRun && lengthMs > mostMs;
    place += isFolded ? mostMs : lengthMs;
    return { ms, place, isFolded };
  });
  return instants.length < 2 ? [first, { ...first, ms: first.ms + 1, place: 1 }] : [first, ...rest];
}

/** The spans as disjoint ones, in order. */
function merged(spans: readonly Span[]): Span[] {
  const found: Span[] = [];
  for (const span of spans.toSorted((a, b) => a.fromMs - b.fromMs)) {
    const last = found.at(-1);
    if (last !== undefined && span.fromMs <= last.toMs) last.toMs = Math.max(last.toMs, span.toMs);
    else found.push({ ...span });
  }
  return found;
}

/** Instants whose clocks fit beside each other on the axis. The first and those that come earlier in the list win. */
export function ticksOf(axis: Axis, instants: readonly number[], apart: number): number[] {
  const chosen: number[] = [];
  for (const ms of instants) {
    const place = axis.at(ms);
    if (place <= 100 - apart && chosen.every((one) => Math.abs(axis.at(one) - place) >= apart)) chosen.push(ms);
  }
  return chosen;
}
