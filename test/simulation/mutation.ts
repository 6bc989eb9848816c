/** A way to break the core on purpose: a snippet of one of its files, and what takes its place. */
export interface Mutation {
  name: string;
  file: string;
  find: string;
  replace: string;
  /** A second place in the same file. */
  also?: { find: string; replace: string };
}
