import { ConnectionError } from "./errors.ts";
import { sleep, within } from "./limits.ts";
import { randomWaitMs, retryAfterOf } from "./transport.ts";

/**
 * Parts of the client. They are handed over, and not imported: a bundler would split the client's own file for them.
 */
export type FileParts = readonly [
  within: typeof within,
  sleep: typeof sleep,
  randomWaitMs: typeof randomWaitMs,
  retryAfterOf: typeof retryAfterOf,
  Failure: typeof ConnectionError,
];

/** The parts for `files.ts`, which is loaded on use. */
export const fileParts: FileParts = [within, sleep, randomWaitMs, retryAfterOf, ConnectionError];
