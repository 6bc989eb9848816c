import { ConnectionError, ProblemError } from "./errors.ts";
import { limitOf, sleep, within } from "./limits.ts";
import { newKey, randomWaitMs, retryAfterOf } from "./transport.ts";
import { toWire } from "./wire.ts";

/*
 * Parts of the client for files that are loaded on use. They are handed over, and not imported: a bundler would split
 * the client's own file for them.
 */

export const fileParts = [within, sleep, randomWaitMs, retryAfterOf, ConnectionError] as const;
export type FileParts = typeof fileParts;

export const manyParts = [ProblemError, limitOf, sleep, randomWaitMs, toWire, newKey] as const;
export type ManyParts = typeof manyParts;
