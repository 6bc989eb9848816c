import type { Command } from "commander";
import type { Terminal } from "./terminal.ts";

/** A group adds its commands to its own one. With `exit`, one that succeeds still says what its exit code is. */
export type Register = (command: Command, terminal: Terminal, exit: (code: number) => void) => void;
