import { once } from "node:events";
import { InvalidArgumentError } from "commander";
import { connection } from "./connection.ts";
import type { Register } from "./group.ts";
import type { Options } from "./options.ts";
import type { Terminal } from "./terminal.ts";
import { readTop, topLines } from "./top-view.ts";

const examples = `
q or Ctrl-C ends it. Without a terminal, or with --once, it prints the present state and ends. Only admins see the queues, only operators the dead letters.

Examples:
  npx offload top
  npx offload top --once --json --key dev-admin
`;

/** A screen of its own without a cursor, and back. */
const [open, close] = ["\u001b[?1049h\u001b[?25l", "\u001b[?25h\u001b[?1049l"];
/** To the first place, to the end of a line, and to the end of the screen. */
const [home, endLine, endScreen] = ["\u001b[H", "\u001b[K\r\n", "\u001b[J"];

const options = [
  ["--interval <seconds>", "time between two readings, 1 to 60", { read: seconds, initial: 2 }],
  ["--once", "print the present state and end"],
  ...connection,
] as const;

/** `offload top` */
export const register: Register = (group) => {
  const { terminal } = group;
  group.help(examples).does(options, async (given) => {
    if (!given.once && !given.json && terminal.width !== undefined) {
      await live(terminal, given);
      return;
    }
    const view = await readTop(given);
    return { json: view, text: () => topLines(view, terminal).join("\n").trimEnd() };
  });
};

/** Draws the view again and again, each time in one write. The screen is given back however it ends. */
async function live(terminal: Terminal, given: Options<typeof options>): Promise<void> {
  const write = (text: string) => terminal.draw(text);
  const stop = new AbortController();
  const { signal } = stop;
  const ends = [
    terminal.onInterrupt(() => stop.abort()),
    terminal.onKey((key) => (key === "q" || key === "Q") && stop.abort()),
  ];
  const interrupted = once(signal, "abort");
  await write(open);
  try {
    while (!signal.aborted) {
      const lines = topLines(await readTop(given, signal), terminal);
      if (!signal.aborted) await write(frameOf(lines));
      await Promise.race([terminal.pause(given.interval * 1000), interrupted]);
    }
  } finally {
    for (const end of ends) end();
    await write(close);
  }
}

/** The lines that fit the screen. */
function frameOf(lines: readonly string[]): string {
  const height = (process.stdout.rows ?? 40) - 1;
  return home + lines.slice(0, height).join(endLine) + endLine + endScreen;
}

function seconds(text: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value >= 1 && value <= 60) return value;
  throw new InvalidArgumentError("Expected a number of seconds, 1 to 60.");
}
