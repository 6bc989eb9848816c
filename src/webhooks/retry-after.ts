/** The longest wait that a receiver can ask for, in seconds: a day. */
const mostSeconds = 86_400;

/** Months and days are words in a date of HTTP; `Date.parse` also accepts texts that are not. */
const date = /^[A-Z][a-z]{2,8},? [\w: -]{10,30}$/;

/** Reads `Retry-After`, as seconds or as a date. Returns 0 to 86400 seconds; undefined: it is absent or not valid. */
export function retryAfterSeconds(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,15}$/.test(header)) return Math.min(Number(header), mostSeconds);
  const atMs = date.test(header) ? Date.parse(header) : Number.NaN;
  if (Number.isNaN(atMs)) return undefined;
  return Math.min(Math.max(0, Math.ceil((atMs - nowMs) / 1000)), mostSeconds);
}
