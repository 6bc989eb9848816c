const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };

/** Seconds of a duration such as `2d`, `90m` or `1d 12h`. Undefined: the text is none. */
export function durationSeconds(text: string): number | undefined {
  const parts = text.trim().match(/^(\d+(\.\d+)?\s*[smhdw]\s*)+$/) ? [...text.matchAll(/([\d.]+)\s*([smhdw])/g)] : [];
  if (parts.length === 0) return undefined;
  return parts.reduce((sum, [, count = "", unit = ""]) => sum + Number(count) * (unitSeconds[unit] ?? 0), 0);
}
