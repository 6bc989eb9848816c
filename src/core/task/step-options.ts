/** Attempts and times of one step. */
export interface StepOptions {
  /**
   * Most attempts of the step in a round of the task, 1 to 20. Default: 5 with `retry`; without both options a failure
   * of the step is one of the task's attempt.
   */
  maxAttempts?: number;
  /** Waits between its attempts, in seconds, at most 2,592,000. Default: those of the type. */
  retry?: {
    /** Wait before attempt 2. Default: 30. */
    baseSeconds?: number;
    /** Each later wait is that many times longer, 1 to 100. Default: 2. */
    factor?: number;
    /** The longest wait. Default: 43,200. */
    maxSeconds?: number;
  };
  /**
   * An attempt of the step that takes longer has failed, as `timed_out`: its signal fires. Default: only the attempt of
   * the task has a time-out, which ends the step's, too.
   */
  timeoutSeconds?: number;
}

/** One attempt of a step. */
export interface StepAttempt {
  /** Its number in the task's round, from 1. */
  readonly attempt: number;
  /** Fires when it times out, and with the signal of the task. */
  readonly signal: AbortSignal;
}
