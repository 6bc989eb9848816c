/** Formats a whole number: `10,040,118`. */
export const whole = (value: number): string => Math.round(value).toLocaleString("en-US");

/** Formats US dollars, with cents below 1,000. */
export const dollars = (value: number): string =>
  `$${value.toLocaleString("en-US", value < 1_000 ? { minimumFractionDigits: 2, maximumFractionDigits: 2 } : { maximumFractionDigits: 0 })}`;

/** Formats a duration: `0.02 s`, `3.4 s`, `12 min`, `2.5 h`. */
export function duration(seconds: number): string {
  if (seconds === 0) return "0 s";
  if (seconds < 10) return `${Number(seconds.toPrecision(2))} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7_200) return `${Number((seconds / 60).toPrecision(3))} min`;
  return `${Number((seconds / 3_600).toPrecision(3))} h`;
}

/** Formats a time since the start as `07:30`, with seconds unless they are zero. Hours go beyond 24. */
export function clockTime(seconds: number): string {
  const rounded = Math.floor(seconds);
  const parts = [Math.floor(rounded / 3_600), Math.floor(rounded / 60) % 60, rounded % 60];
  const shown = rounded % 60 === 0 ? parts.slice(0, 2) : parts;
  return shown.map((part) => String(part).padStart(2, "0")).join(":");
}
