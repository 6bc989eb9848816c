import { format } from "node:util";
import { currentTask } from "../core/task/context.ts";

const levels = { debug: "debug", log: "info", info: "info", warn: "warn", error: "error" } as const;

/**
 * Makes what a handler writes to the console a line of its task's log, with its ids, and without what a sensitive type
 * keeps secret. Other code's output stays as it is.
 */
export function taskLinesFromConsole(target: Console = console): void {
  let writing = false;
  for (const [name, level] of Object.entries(levels) as [keyof typeof levels, "debug" | "info" | "warn" | "error"][]) {
    const original = target[name].bind(target);
    target[name] = (...values: unknown[]) => {
      const task = writing ? undefined : currentTask();
      if (task === undefined) return original(...values);
      writing = true;
      try {
        task.log[level](format(...values), { source: "console" });
      } finally {
        writing = false;
      }
    };
  }
}
