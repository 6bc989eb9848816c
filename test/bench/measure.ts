/** Several measurements of the same thing: the middle one, and how far the others are from it. */
export interface Spread {
  median: number;
  /** The one that other load on the machine touched least. */
  least: number;
  /** Half of the measurements lie between these. */
  low: number;
  high: number;
  rounds: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { median: at(0.5), least: at(0), low: at(0.25), high: at(0.75), rounds: sorted.length };
}

/** A goal: a figure, and what it may be at the most. */
export interface Goal {
  what: string;
  value: number;
  atMost: number;
  /** The figure of the last measurement that was noted. Absent: the figure is a count, or nothing was noted. */
  last?: number;
}

/** A figure that is above the last one by more than this is worse. */
const noise = 1.1;

export const isMet = ({ value, atMost }: Goal): boolean => value <= atMost;

/** True for a figure that is worse than the last one by a tenth; for a count, when it is above its goal. */
export const isWorse = (goal: Goal): boolean =>
  goal.last === undefined ? !isMet(goal) : goal.value > goal.last * noise;

/** What a benchmark found. */
export interface Report {
  name: string;
  /** What was measured, and in which unit. */
  title: string;
  columns: string[];
  rows: (string | number)[][];
  goals: Goal[];
  /** Everything, for machines. */
  data: unknown;
}

/** Where a benchmark works, and how often it repeats. */
export interface Setting {
  folder: string;
  rounds: number;
  /** The most rounds of a figure that seems worse than the last one. Default: no more than of the others. */
  mostRounds?: number;
  /** Shows how far it is. */
  note(line: string): void;
}

export interface Benchmark {
  name: string;
  run(setting: Setting): Promise<Report>;
}
