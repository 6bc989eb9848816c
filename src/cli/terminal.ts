import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

/** Where a command writes, and whom it can ask. */
export interface Terminal {
  /** Writes a line of the result. */
  out(line: string): void;
  /** Writes a line about the result: for people, not for pipes. */
  note(line: string): void;
  /** Shows how far something is: in a terminal, over the line that it showed before; else one line for each change. */
  progress(line: string): void;
  /** Ends the line that progress is shown on. */
  endProgress(): void;
  /** Lets time pass before the next look. */
  pause(ms: number): Promise<void>;
  /** Asks for yes or no; undefined when nobody can be asked. */
  confirm(question: string): Promise<boolean | undefined>;
}

/** A command that was understood and did not succeed: one line on the error output, exit code 1. */
export class Failure extends Error {}

/** A command that cannot be meant: one line on the error output, exit code 2. */
export class Misuse extends Error {}

/** This process's own terminal, or what stands in its place. */
export function systemTerminal(): Terminal {
  const { stdin, stdout, stderr } = process;
  let shown = "";
  // Whoever reads the output may stop early, as `head` does.
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

/** Anything but a yes is a no, the end of the input too. */
function ask(question: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  return new Promise((resolve) => {
    lines.once("close", () => resolve(false));
    lines.question(`${question} [y/N] `, (answer) => {
      resolve(/^y(es)?$/i.test(answer.trim()));
      lines.close();
    });
  });
}

/** Text of others, made harmless: control characters could rewrite the screen. */
export const plain = (text: unknown): string =>
  String(text ?? "-").replaceAll(/[\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu, " ");
