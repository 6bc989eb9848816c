import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { note } from "./notes.ts";

/** The input of the types of this test. */
export const input = z.strictObject({
  key: z.string(),
  number: z.int(),
  /** File of the notes. */
  notes: z.string(),
  ms: z.int().default(0),
  /** Number of the attempt that fails: `fails` says if for good. */
  fails: z.enum(["once", "for good"]).optional(),
});

type Input = z.infer<typeof input>;

/** The members of a task that `noted` needs. */
interface Attempt {
  taskId: string;
  attemptOverall: number;
  signal: AbortSignal;
}

/** Does the work of an attempt between two notes. Returns how it ended. */
export async function noted(inputs: readonly Input[], { taskId, attemptOverall, signal }: Attempt) {
  const [first] = inputs;
  if (first === undefined) throw new Error("a handler was called without an input");
  const common = { key: first.key, task: taskId, attempt: attemptOverall, pid: process.pid };
  const numbers = inputs.map(({ number }) => number);
  note(first.notes, { what: "start", ...common, inputs: numbers });
  const stopped = await sleep(first.ms, false, { signal }).catch(() => true);
  const outcome = stopped ? "stopped" : endOf(first, attemptOverall);
  note(first.notes, { what: "end", ...common, inputs: numbers, outcome });
  return { outcome, numbers };
}

function endOf({ fails }: Input, attempt: number): "done" | "again" | "failed" {
  if (fails === "for good") return "failed";
  return fails === "once" && attempt === 1 ? "again" : "done";
}
