import type { Theme } from "./weather.ts";

/** A way to break the core on purpose: a snippet of one of its files, and what takes its place. */
export interface Mutation {
  name: string;
  file: string;
  find: string;
  replace: string;
  /** The subject of the worlds that find it. Absent: any. */
  theme?: Theme;
  /** The file of unit tests that finds it, from the root. It breaks what no law of the simulation names. */
  test?: string;
  /** A second place in the same file. */
  also?: { find: string; replace: string };
}
