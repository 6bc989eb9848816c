const units = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
  ["s", 1],
] as const;

/** Formats a number of seconds in its largest unit that has two, or in seconds: `90 s`, `3 min`, `5 h`, `12 d`. */
export function span(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const [unit, size] = units.find(([, size]) => whole >= 2 * size) ?? ["s", 1];
  return `${Math.round(whole / size)} ${unit}`;
}

/** Formats an ISO time by its distance from now: `3 min ago`, `in 2 h`. */
export function when(time: string, now = Date.now()): string {
  const seconds = Math.round((Date.parse(time) - now) / 1000);
  if (seconds === 0) return "now";
  return seconds < 0 ? `${span(-seconds)} ago` : `in ${span(seconds)}`;
}
