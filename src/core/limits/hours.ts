/** The whole hour of a time in epoch milliseconds. */
export const hourOf = (ms: number): number => Math.floor(ms / 3_600_000);

/** When an hour begins, in epoch milliseconds. */
export const startOfHour = (hour: number): number => hour * 3_600_000;
