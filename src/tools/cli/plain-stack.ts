import { plain } from "./terminal.ts";

/** A stack without control characters, but with its lines and their indents. */
export const plainStack = (stack: string): string =>
  stack
    .split("\n")
    .map((line) => `${/^ */.exec(line)?.[0]}${plain(line.trimStart())}`)
    .join("\n");
