/** The work that the code of an attempt has under way outside of the context's calls. */
export type Activity =
  /** All that the code has started is over. */
  | "none"
  /** It may be over: a connection that has not answered, a process or a thread that may stay. */
  | "perhaps"
  /** A timer or a request is under way. */
  | "some";

/** Follows the work that some code starts from the first call on. */
export interface Following {
  now(): Activity;
  end(): void;
}

/**
 * Begins to follow work. It takes time of the whole process while it lasts.
 * @param isOwn True when the code that runs now is followed.
 */
export type Follow = (isOwn: () => boolean) => Following;
