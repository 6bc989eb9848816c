import { once } from "node:events";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { styleText } from "node:util";
import { cut } from "../../machine/columns.ts";
import { controlCharacters, escapeOf } from "../../util/control-characters.ts";

/** Output of a command, and its questions to the user. */
export interface Terminal {
  /** Width of the terminal that shows the standard output. Undefined: a pipe or a file, where nothing is shortened. */
  readonly width: number | undefined;
  /** True when the error output is a terminal that can overwrite its last line. */
  readonly live: boolean;
  /** Writes a line of the result to the standard output. */
  out(line: string): void;
  /** Writes bytes to the standard output, a terminal as text. Ends when the output takes more. */
  bytes(data: Uint8Array): Promise<void> | void;
  /** Writes to the terminal's screen as it is: where the cursor goes, and texts that are plain. */
  draw(text: string): Promise<void> | void;
  /** Writes a line about the result to the error output: for people, not for pipes. */
  note(line: string): void;
  /** Adds a colour for the standard output, where it takes colours. */
  colour(name: Colour, text: string): string;
  /**
   * Shows progress. A terminal overwrites the previous progress line; any other output gets one line for each change.
   */
  progress(line: string): void;
  /** Ends the progress line. */
  endProgress(): void;
  /** Waits before the next poll. */
  pause(ms: number): Promise<void>;
  /**
   * Asks a yes-or-no question. Returns undefined when there is no terminal to ask on.
   * @param preselected The answer that Enter gives. Default: false.
   */
  confirm(question: string, preselected?: boolean): Promise<boolean | undefined>;
  /** Reads the standard input to its end. */
  input(): Promise<string>;
  /** Reads the standard input as it comes. */
  inputChunks(): AsyncIterable<Uint8Array>;
  /** Calls back on Ctrl-C, in place of the end of the process. Returns a function that ends this. */
  onInterrupt(stop: () => void): () => void;
  /**
   * Calls back with each key that is pressed, as long as the input is a terminal. Returns a function that ends this.
   */
  onKey(press: (key: string) => void): () => void;
}

export type Colour = "green" | "red" | "yellow" | "cyan" | "gray";

/** Exit code of a process that Ctrl-C ends. */
export const interrupted = 130;

/** A valid command that failed: one line on the error output, exit code 1. */
export class CommandFailed extends Error {}

/** An invalid command line: one line on the error output, exit code 2. */
export class UsageError extends Error {}

/** A question before a command acts. */
interface Question {
  question: string;
  /** The answer that Enter gives. */
  preselected?: boolean;
  /** The answer is yes already: by an option. */
  yes: boolean | undefined;
  /** Said when the answer is no. */
  no: string;
}

/** @throws CommandFailed when the user says no; UsageError when nobody can be asked */
export async function agree(terminal: Terminal, { question, preselected, yes, no }: Question): Promise<void> {
  const answer = yes === true || (await terminal.confirm(question, preselected));
  if (answer === undefined) throw new UsageError("there is no terminal to ask on: give --yes");
  if (!answer) throw new CommandFailed(no);
}

type Streams = Pick<NodeJS.Process, "stdin" | "stdout" | "stderr">;

const asIs = (text: string): string => text;

/** The terminal, or the pipes, of this process. */
export function systemTerminal({ stdin, stdout, stderr }: Streams = process): Terminal {
  const decoder = new TextDecoder();
  const toOutput = stdout.isTTY ? onScreen : asIs;
  const toErrors = stderr.isTTY ? onScreen : asIs;
  const write = async (data: string | Uint8Array) => {
    if (!stdout.write(data)) await once(stdout, "drain");
  };
  const live = stderr.isTTY === true && process.env.TERM !== "dumb";
  let shown = "";
  const clear = () => {
    if (shown !== "" && live) stderr.write("\r\u001b[2K");
    shown = "";
  };
  // The reader of the output may stop early, as `head` does.
  stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
  return {
    width: stdout.isTTY ? stdout.columns || 80 : undefined,
    live,
    out: (line) => {
      stdout.write(`${toOutput(line)}\n`);
    },
    bytes: (data) => write(stdout.isTTY ? onScreen(decoder.decode(data, { stream: true })) : data),
    draw: write,
    note: (line) => {
      clear();
      stderr.write(`${toErrors(line)}\n`);
    },
    // Follows FORCE_COLOR, NO_COLOR and TERM, and adds nothing to a pipe.
    colour: (name, line) => styleText(name, line, { stream: stdout }),
    progress: (line) => {
      if (line === shown) return;
      clear();
      stderr.write(live ? cut(toErrors(line), (stderr.columns || 80) - 1) : `${toErrors(line)}\n`);
      shown = line;
    },
    endProgress: clear,
    pause: (ms) => sleep(ms),
    confirm: async (question, preselected = false) =>
      stdin.isTTY && stderr.isTTY ? ask(question, preselected) : undefined,
    input: () => text(stdin),
    inputChunks: () => stdin,
    onInterrupt: (stop) => {
      process.on("SIGINT", stop);
      return () => process.off("SIGINT", stop);
    },
    onKey(press) {
      if (stdin.isTTY !== true) return () => {};
      // A terminal that gives each key at once leaves Ctrl-C to the program.
      const read = (data: Buffer) =>
        data.includes(3) ? process.kill(process.pid, "SIGINT") : press(data.toString("utf8"));
      stdin.setRawMode(true);
      stdin.resume().on("data", read);
      return () => {
        stdin.off("data", read).pause();
        stdin.setRawMode(false);
      };
    },
  };
}

/** Ctrl-C and the end of the input mean no. */
async function ask(message: string, initialValue: boolean): Promise<boolean> {
  const { confirm } = await import("@clack/prompts");
  return (await confirm({ message, initialValue, output: process.stderr })) === true;
}

/** Replaces control characters, which could rewrite the screen, in text from other sources. */
export const plain = (text: unknown): string =>
  String(text ?? "-").replaceAll(new RegExp(`(?:${controlCharacters.source})+`, "gu"), " ");

/** The parts that are said: the others are false. */
export const said = (...parts: (string | false)[]): string[] => parts.filter((part) => part !== false);

/** A stack without control characters, but with its lines and their indents. */
export const plainStack = (stack: string): string =>
  stack
    .split("\n")
    .map((line) => `${/^ */.exec(line)?.[0]}${plain(line.trimStart())}`)
    .join("\n");

/** The colours of this program, a control character, and a whole line break of CSV. */
const shownParts = new RegExp(`\\u001b\\[(?:3[1-6]|39|90)m|\\r\\n|${controlCharacters.source}`, "gu");

/**
 * A text as a terminal shows it: each control character is escaped, but for line breaks, tabs and the colours of this
 * program. It is still the same JSON.
 */
export const onScreen = (text: string): string =>
  text.replaceAll(shownParts, (found) =>
    found.length > 1 || found === "\n" || found === "\t" ? found : escapeOf(found),
  );

const barWidth = 20;

/** Draws a bar of progress, 0 to 100 percent. */
export function bar(percent: number): string {
  const filled = Math.round((percent / 100) * barWidth);
  return `${"█".repeat(filled)}${"░".repeat(barWidth - filled)} ${`${percent}`.padStart(3)} %`;
}
