import type { TransferOptions, TransferProgress } from "../../client/index.ts";
import { bar, type Terminal } from "./terminal.ts";

/** Milliseconds between two reports: on a terminal, and on other outputs, which get one line for each. */
const reportMs = { live: 100, other: 1_000 };

/** Runs a transfer of a file, and shows its progress. */
export async function withProgress<T>(
  terminal: Terminal,
  verb: string,
  transfer: (options: Pick<TransferOptions, "onProgress">) => Promise<T>,
): Promise<T> {
  const everyMs = terminal.live ? reportMs.live : reportMs.other;
  let reportedAt = Date.now();
  const onProgress = (progress: TransferProgress) => {
    if (Date.now() - reportedAt < everyMs) return;
    reportedAt = Date.now();
    terminal.progress(`${verb}  ${lineOf(progress)}`);
  };
  try {
    return await transfer({ onProgress });
  } finally {
    terminal.endProgress();
  }
}

function lineOf({ bytes, totalBytes }: TransferProgress): string {
  if (totalBytes === undefined || totalBytes === 0) return megabytes(bytes);
  return `${bar(Math.floor((100 * bytes) / totalBytes))}  ${megabytes(bytes)} of ${megabytes(totalBytes)}`;
}

const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`;
