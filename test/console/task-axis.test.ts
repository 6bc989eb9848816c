import { describe, expect, test } from "vitest";
import { axisOf, type Span, ticksOf } from "../../console/src/pages/task-axis.ts";

const run = (fromMs: number, toMs: number): Span => ({ fromMs, toMs, isWait: false });
const wait = (fromMs: number, toMs: number): Span => ({ fromMs, toMs, isWait: true });

/** Places of instants, rounded. */
const places = (spans: readonly Span[], folds: boolean, instants: readonly number[]) => {
  const axis = axisOf(spans, folds);
  return instants.map((ms) => Math.round(axis.at(ms)));
};

describe("the axis of a task's timeline", () => {
  test("a wait of an hour between attempts of a second is folded; what ran keeps its scale", () => {
    const spans = [run(0, 1_000), wait(1_000, 3_601_000), run(3_601_000, 3_604_000)];
    const axis = axisOf(spans, true);
    expect(axis.folds).toEqual([{ from: expect.any(Number), to: expect.any(Number), ms: 3_600_000 }]);
    // 1 s, a fold of a quarter of the 4 s that ran, 3 s.
    expect(places(spans, true, [0, 1_000, 3_601_000, 3_604_000])).toEqual([0, 20, 40, 100]);
    expect(places(spans, false, [0, 1_000, 3_601_000, 3_604_000])).toEqual([0, 0, 100, 100]);
    expect(axisOf(spans, false).folds).toEqual([]);
  });

  test("a short wait, and a wait beside something that runs, are not folded", () => {
    const beside = [run(0, 1_000), wait(0, 60_000), run(500, 60_000)];
    expect(axisOf(beside, true).folds).toEqual([]);
    expect(axisOf([run(0, 1_000), wait(1_000, 1_100), run(1_100, 2_000)], true).folds).toEqual([]);
  });

  test("a time that nothing names, such as a night before a retry by hand, is folded as a wait is", () => {
    expect(axisOf([run(0, 10), run(86_400_000, 86_400_010)], true).folds).toHaveLength(1);
  });

  test("a task that only waits has its true time", () => {
    const spans = [wait(0, 1_000), wait(1_000, 4_000)];
    expect(places(spans, true, [0, 1_000, 4_000])).toEqual([0, 25, 100]);
    expect(axisOf(spans, true).folds).toEqual([]);
    // Half a second, and an hour that is to come.
    expect(places([wait(0, 500), wait(500, 3_600_500)], true, [500, 3_600_500])).toEqual([20, 100]);
  });

  test("an instant, no span at all, and instants outside have a place", () => {
    expect(places([run(5, 5)], true, [0, 5, 9])).toEqual([0, 0, 100]);
    expect(places([], true, [0, 9])).toEqual([0, 100]);
  });

  test("clocks that would overlap are left out, the first ones stay", () => {
    const axis = axisOf([run(0, 100)], true);
    expect(ticksOf(axis, [0, 5, 40, 45, 95], 10)).toEqual([0, 40]);
  });
});
