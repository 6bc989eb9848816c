import type { TaskType } from "./task.ts";

/** Stands for every name: the handler reads signals whose names its text does not say. */
export const anyName = "*";

const call = /\bnextSignal\s*(?:\?\.)?\(\s*(?:(["'`])([A-Za-z0-9][A-Za-z0-9._-]{0,63})\1\s*[,)])?/g;

/**
 * The names of the signals that a type's handler reads one after the other, as the text of its functions says: a sender
 * has to know it before the handler has read one. A call in another function is not seen.
 */
export function nextSignalsOf({ handler, aggregate }: Pick<TaskType, "handler" | "aggregate">): string[] {
  const texts = [handler, aggregate].map((code) => (code === undefined ? "" : Function.prototype.toString.call(code)));
  const names = texts.flatMap((text) => [...text.matchAll(call)].map(([, , name]) => name ?? anyName));
  return [...new Set(names)];
}
