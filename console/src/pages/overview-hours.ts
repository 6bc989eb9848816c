/** Ended tasks of an hour. */
export interface Hour {
  ended: number;
  failed: number;
}

/** Ended tasks by period. */
export interface Periods {
  /** Start of each period, in epoch seconds. */
  times: readonly number[];
  completed: readonly (number | null)[];
  failed: readonly (number | null)[];
}

const hourSeconds = 3_600;

/** The ended tasks of the hour before a time, and of the hour before that one. */
export function hoursOf({ times, completed, failed }: Periods, endSeconds: number): { last: Hour; before: Hour } {
  const hour = (ago: number): Hour => {
    const isIn = (index: number) => Math.floor((endSeconds - (times[index] ?? 0)) / hourSeconds) === ago;
    const sum = (values: readonly (number | null)[]) =>
      values.reduce<number>((total, value, index) => total + (isIn(index) ? (value ?? 0) : 0), 0);
    return { ended: sum(completed) + sum(failed), failed: sum(failed) };
  };
  return { last: hour(0), before: hour(1) };
}
