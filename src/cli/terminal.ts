import { setTimeout as sleep } from "node:timers/promises";

/** Output of a command, and its questions to the user. */
export interface Terminal {
  /** Writes a line of the result to the standard output. */
  out(line: string): void;
  /** Writes a line about the result to the error output: for people, not for pipes. */
  note(line: string): void;
  /** Shows progress. A terminal overwrites the previous progress line; any other output gets one line for each change. */
  progress(line: string): void;
  /** Ends the progress line. */
  endProgress(): void;
  /** Waits before the next poll. */
  pause(ms: number): Promise<void>;
  /** Asks a yes-or-no question. Returns undefined when there is no terminal to ask on. */
  confirm(question: string): Promise<boolean | undefined>;
}

/** A valid command that failed: one line on the error output, exit code 1. */
export class CommandFailed extends Error {}

/** An invalid command line: one line on the error output, exit code 2. */
export class UsageError extends Error {}

/** The terminal, or the pipes, of this process. */
export function systemTerminal(): Terminal {
  const { stdin, stdout, stderr } = process;
  let shown = "";
  // The reader of the output may stop early, as `head` does.
  stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
  return {
    out: (line) => stdout.write(`${line}\n`),
    note: (line) => stderr.write(`${line}\n`),
    progress: (line) => {
      if (line === shown) return;
      stderr.write(stderr.isTTY ? `\r${line.padEnd(shown.length)}` : `${line}\n`);
      shown = line;
    },
    endProgress: () => {
      if (shown !== "" && stderr.isTTY) stderr.write("\n");
      shown = "";
    },
    pause: (ms) => sleep(ms),
    confirm: async (question) => (stdin.isTTY && stderr.isTTY ? ask(question) : undefined),
  };
}

/** Ctrl-C and the end of the input mean no. */
async function ask(message: string): Promise<boolean> {
  const { confirm } = await import("@clack/prompts");
  return (await confirm({ message, initialValue: false, output: process.stderr })) === true;
}

/** Replaces control characters, which could rewrite the screen, in text from other sources. */
export const plain = (text: unknown): string =>
  String(text ?? "-").replaceAll(/[\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu, " ");
