import { setImmediate } from "./timers.ts";

let waiting: Promise<void> | undefined;

/**
 * Resolves after one turn of the event loop, when Node has told of every rejection that nobody awaits. All callers
 * before that wait for the same turn, and go on in step. With a turn for each, a worker takes a third more processor
 * time for a task (`npm run bench -- worker`).
 */
export function turn(): Promise<void> {
  waiting ??= new Promise((resolve) => {
    setImmediate(() => {
      waiting = undefined;
      resolve();
    });
  });
  return waiting;
}
