import { format } from "node:util";
import { currentRedaction, currentTask } from "../core/task/ambient.ts";
import { bareLines } from "./log.ts";
import { metricLineOf } from "./metric-lines.ts";

const levels = { debug: "debug", log: "info", info: "info", warn: "warn", error: "error" } as const;

/**
 * Makes what a handler writes to the console a line of its task's log, with its ids, and without what a sensitive type
 * keeps secret. A line with metrics goes out by itself, and other code's output stays as it is.
 */
export function taskLinesFromConsole(target: Console = console, writeLine = bareLines()): void {
  let writing = false;
  for (const [name, level] of Object.entries(levels) as [keyof typeof levels, "debug" | "info" | "warn" | "error"][]) {
    const original = target[name].bind(target);
    target[name] = (...values: unknown[]) => {
      if (writing) return original(...values);
      const [task, redact] = [currentTask(), currentRedaction()];
      // Code that goes on after the end of its attempt still has its input.
      if (task === undefined) return redact === undefined ? original(...values) : original(redact(format(...values)));
      writing = true;
      try {
        const text = format(...values);
        const metrics = metricLineOf(text, task, redact);
        if (metrics === undefined) task.log[level](text, { source: "console" });
        else writeLine(metrics);
      } finally {
        writing = false;
      }
    };
  }
}
