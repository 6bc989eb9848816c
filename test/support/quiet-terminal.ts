import type { Terminal } from "../../src/tools/cli/terminal.ts";

/** A terminal that is a pipe, writes nothing, and has nobody who answers. */
export const quietTerminal: Terminal = {
  width: undefined,
  live: false,
  out: () => {},
  bytes: () => {},
  draw: () => {},
  note: () => {},
  colour: (_, text) => text,
  progress: () => {},
  endProgress: () => {},
  pause: async () => {},
  confirm: async () => undefined,
  input: async () => "",
  inputChunks: async function* () {},
  onInterrupt: () => () => {},
  onKey: () => () => {},
};
