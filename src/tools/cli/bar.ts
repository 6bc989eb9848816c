const width = 20;

/** Draws a bar of progress, 0 to 100 percent. */
export function bar(percent: number): string {
  const filled = Math.round((percent / 100) * width);
  return `${"█".repeat(filled)}${"░".repeat(width - filled)} ${`${percent}`.padStart(3)} %`;
}
