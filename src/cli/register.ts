import type { Command } from "commander";
import type { Terminal } from "./terminal.ts";

/** Adds the commands of a group. A command that succeeds can still set an exit code with `exit`. */
export type Register = (command: Command, terminal: Terminal, exit: (code: number) => void) => void;
