import { expect, test } from "vitest";
import { type CrashNote, crashFailure } from "../../../src/core/model/classify.ts";

const stack = "process.exit\n    at leave (tasks/pay.ts:6:11)\n    at handler (tasks/pay.ts:20:3)";
const memory = { used_mb: 481, limit_mb: 384 };

test.for<[Partial<CrashNote> & Pick<CrashNote, "cause">, string, string]>([
  [{ cause: "exited", exit_code: 1, stack }, "ProcessExited", "attempt 2 called process.exit(1), at tasks/pay.ts:6:11"],
  [{ cause: "exited" }, "ProcessExited", "attempt 2 called process.exit()"],
  [
    { cause: "blocked", stack },
    "EventLoopBlocked",
    "attempt 2 blocked the event loop until its process was ended, at tasks/pay.ts:6:11",
  ],
  [
    { cause: "out_of_memory", ...memory, limit_of: "heap" },
    "OutOfMemory",
    "attempt 2 ran out of memory: its process used 481 MB, and objects in it may use 384 MB",
  ],
  [
    { cause: "out_of_memory", ...memory, limit_of: "process", by: "unknown", attempts: 10 },
    "OutOfMemory",
    "one of 10 attempts in the process of attempt 2 ran out of memory: its process used 481 MB, and it may use 384 MB",
  ],
  [
    { cause: "exited", exit_code: 1, by: "another", attempts: 2 },
    "AttemptCrashed",
    "the worker died during attempt 2: another attempt in its process called process.exit(1)",
  ],
])("the note %j becomes a failure of type %s", ([note, type, message]) => {
  expect(crashFailure(2, { by: "this", attempts: 1, ...note })).toEqual({ kind: "crashed", type, message });
});

test("without a note nobody knows why a worker died", () => {
  const message = "the worker died, or lost its lease, during attempt 1";
  expect(crashFailure(1, undefined)).toEqual({ kind: "crashed", type: "AttemptCrashed", message });
});
