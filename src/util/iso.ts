/** The time that was formatted last, and its text: a batch writes a millisecond many times. */
let lastMs = Number.NaN;
let lastText = "";

/** Formats epoch milliseconds as ISO 8601 UTC with milliseconds. */
export function iso(epochMs: number): string {
  if (epochMs === lastMs) return lastText;
  lastText = new Date(epochMs).toISOString();
  lastMs = epochMs;
  return lastText;
}
