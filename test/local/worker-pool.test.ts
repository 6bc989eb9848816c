import { expect, test } from "vitest";
import { deathReason } from "../../src/local/worker-pool.ts";

const thrown = `/app/tasks/mail.send.ts:12
    setTimeout(() => { throw new Error("late"); }, 10);
                       ^

TypeError: the list is late
    at Timeout._onTimeout (/app/tasks/mail.send.ts:12:30)
    at listOnTimeout (node:internal/timers:605:17)

Node.js v24.21.0
`;

const outOfMemory = `
<--- Last few GCs --->
[1:0x1]     3200 ms: Mark-Compact 380.1 (390.1) -> 379.9 (391.1) MB

FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory
----- Native stack trace -----
`;

test.for([
  ["what was thrown, not the line that threw it", thrown, "TypeError: the list is late"],
  [
    "a lack of memory",
    outOfMemory,
    "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
  ],
  ["the last of several", `RangeError: told and survived\n${thrown}`, "TypeError: the list is late"],
  ["any word of an error otherwise", "hello\nsome error happened\nbye", "some error happened"],
  ["nothing, where nothing was said", "hello\n", undefined],
] as const)("the reason of a worker's death is %s", ([, output, reason]) => {
  expect(deathReason(output)).toBe(reason);
});
