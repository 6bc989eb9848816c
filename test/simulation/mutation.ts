import type { Theme } from "./weather.ts";

/** A way to break the core on purpose: a snippet of one of its files, and what takes its place. */
export interface Mutation {
  name: string;
  file: string;
  find: string;
  replace: string;
  /** The subject of the worlds that find it. Absent: any. */
  theme?: Theme;
  /**
   * True: none of 4,000 worlds finds it. Either it changes nothing that a law names, or a law is missing. It is hunted
   * only when a part of its name is given.
   */
  unfound?: true;
  /** A second place in the same file. */
  also?: { find: string; replace: string };
}
