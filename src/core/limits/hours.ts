/** Number of whole hours since 1970 at a time in epoch milliseconds. */
export const hourOf = (ms: number): number => Math.floor(ms / 3_600_000);

/** Start of an hour, in epoch milliseconds. */
export const startOfHour = (hour: number): number => hour * 3_600_000;
