import type { Command } from "commander";
import type { Answer } from "./answer.ts";
import { addGiven, type Given, type Operands, type Options } from "./options.ts";
import { CommandFailed, type Terminal } from "./terminal.ts";

/**
 * The outcome of a command: its words, or its exit code. Undefined: it has printed by itself. Not `void`, which is
 * whatever the function of a terminal returns.
 */
type Outcome = Answer | number | undefined;

type Act<All extends readonly Given[]> = (
  options: Options<All>,
  ...operands: Operands<All>
) => Outcome | Promise<Outcome>;

type KeyRole = "any" | "operator or admin" | "admin";

const givenOnce = (role: KeyRole): string => {
  const needed = role === "any" ? "" : ` The key must have the role ${role}.`;
  return `\nSet OFFLOAD_URL and OFFLOAD_KEY instead of giving --url and --key each time.${needed}\n`;
};

/** A command of the program: it does something itself, or has commands of its own. */
export class Group {
  readonly command: Command;
  readonly terminal: Terminal;
  readonly #exit: (code: number) => void;

  /** @param exit Sets the exit code of a command that succeeds. */
  constructor(command: Command, terminal: Terminal, exit: (code: number) => void) {
    this.command = command;
    this.terminal = terminal;
    this.#exit = exit;
  }

  /** @param role the lowest role of the key, of commands that call the API */
  help(text: string, role?: KeyRole): this {
    this.command.addHelpText("after", role === undefined ? text : text + givenOnce(role));
    return this;
  }

  /** Adds a command whose act is added later. */
  in(name: string, about: string, options: { hidden?: boolean } = {}): Group {
    return new Group(this.command.command(name, options).description(about), this.terminal, this.#exit);
  }

  /** Adds a command. */
  add<const All extends readonly Given[]>(name: string, about: string, all: All, act: Act<All>): Command {
    return this.in(name, about).does(all, act);
  }

  /** Sets the act of this command itself. */
  does<const All extends readonly Given[]>(all: All, act: Act<All>): Command {
    addGiven(this.command, all);
    return this.command.action(async (...given: unknown[]) => {
      // Commander gives the operands, then the options, then the command.
      const [options, operands] = [given.at(-2) as Options<All>, given.slice(0, -2) as Operands<All>];
      const outcome = await act(options, ...operands);
      if (typeof outcome === "number") this.#exit(outcome);
      else if (outcome !== undefined) this.#say(outcome, options);
    });
  }

  #say({ json, text, hint, note, failure }: Answer, { json: asJson, utc }: { json?: boolean; utc?: boolean }): void {
    const { terminal } = this;
    if (!asJson) terminal.out(typeof text === "string" ? text : text({ terminal, utc }));
    else if (json !== undefined) terminal.out(JSON.stringify(json, null, 2));
    if (!asJson && hint !== undefined) terminal.note(hint);
    if (note !== undefined) terminal.note(note);
    if (failure !== undefined) throw new CommandFailed(failure);
  }
}

/** Adds what a group of commands has. */
export type Register = (group: Group) => void;
