import { Command, CommanderError } from "commander";
import { ProblemError } from "../../client/index.ts";
import { TaskFileError } from "../../code/project/task-modules.ts";
import { packageVersion } from "../../installed/installation.ts";
import { textOf } from "./connection.ts";
import type { Register } from "./group.ts";
import { plain, type Terminal, UsageError } from "./terminal.ts";

export type Load = () => Promise<{ register: Register }>;

/** Command groups by name: what they do, and their file, which is loaded only when the command line names the group. */
export type Groups = Readonly<Record<string, readonly [about: string, load: Load]>>;

const examples = `
Examples:
  npx offload dev                                    run everything on this machine
  npx offload submit link.check '{"url":"https://example.com"}' --wait
  npx offload tasks list --status failed             show what failed
  npx offload dlq replay --type mail.send --wait     retry after the cause is fixed
`;

/**
 * Runs a command line of these groups. Returns the exit code: 0 success, 1 failed or refused by the server, 2 invalid
 * command line.
 */
export async function runGroups(groups: Groups, args: readonly string[], terminal: Terminal): Promise<number> {
  let exitCode = 0;
  const program = new Command("offload")
    .description("A task pipeline for your own AWS account.")
    .version(packageVersion())
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.note(text.trimEnd()),
    })
    .addHelpText("after", examples);
  for (const [name, [about, load]] of Object.entries(groups)) {
    const command = program.command(name).description(about);
    const exit = (code: number) => {
      exitCode = code;
    };
    if (!args.includes(name)) continue;
    const [{ register }, { Group }] = await Promise.all([load(), import("./group.ts")]);
    register(new Group(command, terminal, exit));
  }
  if (args[0] === "complete") return complete(program, args.slice(2), terminal);
  try {
    await program.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    return explain(error, terminal);
  }
}

/** Prints an error, with each fault of an input. Returns the exit code. */
function explain(error: unknown, terminal: Terminal): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  terminal.note(`offload: ${error instanceof TaskFileError ? plainLines(error.message) : plain(textOf(error))}`);
  const faults = error instanceof ProblemError && error.errors.length > 1 ? error.errors : [];
  for (const { path, message } of faults) terminal.note(`  ${plain(path) || "/"}: ${plain(message)}`);
  return error instanceof UsageError ? 2 : 1;
}

/** Prints suggestions for a shell, which calls `offload complete -- <words>`. */
async function complete(program: Command, words: readonly string[], terminal: Terminal): Promise<number> {
  const { suggest } = await import("./completion.ts");
  for (const { word, description } of await suggest(program, words)) terminal.out(`${word}\t${description}`);
  return 0;
}

/** The message of a broken task file has its line of code below it. */
const plainLines = (text: string): string => text.trimEnd().split("\n").map(plain).join("\n");
