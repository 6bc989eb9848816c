import type { GivenTheme } from "./weather.ts";

/** A way to break the core on purpose: a snippet of one of its functions, and what takes its place. */
export interface Mutation {
  name: string;
  /** From `src/core`. */
  file: string;
  /** The function's name, `#name` of a private method. Absent: the snippet is in no function, and the whole file is looked through. */
  in?: string;
  /** Compared without spaces and comments, and there exactly once. */
  find: string;
  replace: string;
  /** The subject of the worlds that find it. Absent: any. */
  theme?: GivenTheme;
  /** The file of unit tests that finds it, from the root. It breaks what no law of the simulation names. */
  test?: string;
  /** A second place in the same file, in the same function unless it names another one. */
  also?: { in?: string; find: string; replace: string };
}
