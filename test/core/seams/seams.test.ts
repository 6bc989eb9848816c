import { describe, expect, test } from "vitest";
import { operations, seam, states } from "./states.ts";

/*
 * Each operation on a task in each state. The columns: its answer; the task's status and tier after it; the input that
 * the task shows then; tiers to which the operation sent a message; days for which the record is kept then; the end: status,
 * attempts of the last round, inputs of the attempts that started after the operation; days for which the record is
 * kept from the end on.
 */
const table = `
extend            | an attempt that completes  | ok          | processing     | old |               |  30 | completed after 1                     | 30
extend            | an attempt that is retried | ok          | processing     | old |               |  44 | completed after 2, ran with old       | 30
extend            | an attempt that sleeps     | ok          | processing     | old |               |  44 | completed after 1, ran with old       | 30
extend            | a sleep                    | ok          | pending        | old |               |  30 | completed after 1, ran with old       | 30
extend            | a wait for a signal        | ok          | pending        | old |               |  30 | completed after 1, ran with old       | 30
extend            | a wait in a line           | ok          | pending        | old |               |  60 | completed after 1, ran with old       | 30
extend            | a line, then a delay       | ok          | pending        | old |               |  60 | completed after 1, ran with old       | 30
extend            | a retry's wait             | ok          | pending        | old |               |  30 | completed after 2, ran with old       | 30
extend            | a delay                    | ok          | pending        | old |               |  30 | completed after 1, ran with old       | 30
extend            | a wait for children        | ok          | processing     | old |               | 800 | completed after 1                     | 30
extend            | an operator's retry        | ok          | pending        | old |               |  30 | completed after 1, ran with old       | 30
extend            | completed                  | ok          | completed      | old |               |  30 | completed after 1                     | 30
extend            | failed                     | ok          | failed         | old |               |  30 | failed after 1                        | 40
extend            | cancelled                  | ok          | cancelled      | old |               |  30 | cancelled after 0                     | 30

retry             | an attempt that completes  | conflict    | processing     | old |               |   0 | completed after 1                     |  0
retry             | an attempt that is retried | conflict    | processing     | old |               |  14 | completed after 2, ran with old       |  0
retry             | an attempt that sleeps     | conflict    | processing     | old |               |  14 | completed after 1, ran with old       |  0
retry             | a sleep                    | conflict    | pending        | old |               |  14 | completed after 1, ran with old       |  0
retry             | a wait for a signal        | conflict    | pending        | old |               |  14 | completed after 1, ran with old       |  0
retry             | a wait in a line           | conflict    | pending        | old |               |  60 | completed after 1, ran with old       |  0
retry             | a line, then a delay       | conflict    | pending        | old |               |  60 | completed after 1, ran with old       |  0
retry             | a retry's wait             | conflict    | pending        | old |               |  14 | completed after 2, ran with old       |  0
retry             | a delay                    | conflict    | pending        | old |               |  14 | completed after 1, ran with old       |  0
retry             | a wait for children        | conflict    | processing     | old |               | 800 | completed after 1                     |  0
retry             | an operator's retry        | conflict    | pending        | old |               |  14 | completed after 1, ran with old       |  0
retry             | completed                  | conflict    | completed      | old |               |   0 | completed after 1                     |  0
retry             | failed                     | ok          | pending        | old | normal normal |  14 | completed after 1, ran with old       |  0
retry             | cancelled                  | conflict    | cancelled      | old |               |   0 | cancelled after 0                     |  0

retry with input  | an attempt that completes  | conflict    | processing     | old |               |   0 | completed after 1                     |  0
retry with input  | an attempt that is retried | conflict    | processing     | old |               |  14 | completed after 2, ran with old       |  0
retry with input  | an attempt that sleeps     | conflict    | processing     | old |               |  14 | completed after 1, ran with old       |  0
retry with input  | a sleep                    | conflict    | pending        | old |               |  14 | completed after 1, ran with old       |  0
retry with input  | a wait for a signal        | conflict    | pending        | old |               |  14 | completed after 1, ran with old       |  0
retry with input  | a wait in a line           | conflict    | pending        | old |               |  60 | completed after 1, ran with old       |  0
retry with input  | a line, then a delay       | conflict    | pending        | old |               |  60 | completed after 1, ran with old       |  0
retry with input  | a retry's wait             | conflict    | pending        | old |               |  14 | completed after 2, ran with old       |  0
retry with input  | a delay                    | conflict    | pending        | old |               |  14 | completed after 1, ran with old       |  0
retry with input  | a wait for children        | conflict    | processing     | old |               | 800 | completed after 1                     |  0
retry with input  | an operator's retry        | conflict    | pending        | old |               |  14 | completed after 1, ran with old       |  0
retry with input  | completed                  | conflict    | completed      | old |               |   0 | completed after 1                     |  0
retry with input  | failed                     | ok          | pending        | new | normal normal |  14 | completed after 1, ran with new       |  0
retry with input  | cancelled                  | conflict    | cancelled      | old |               |   0 | cancelled after 0                     |  0

change input      | an attempt that completes  | conflict    | processing     | old |               |   0 | completed after 1                     |  0
change input      | an attempt that is retried | conflict    | processing     | old |               |  14 | completed after 2, ran with old       |  0
change input      | an attempt that sleeps     | conflict    | processing     | old |               |  14 | completed after 1, ran with old       |  0
change input      | a sleep                    | conflict    | pending        | old |               |  14 | completed after 1, ran with old       |  0
change input      | a wait for a signal        | conflict    | pending        | old |               |  14 | completed after 1, ran with old       |  0
change input      | a wait in a line           | ok          | pending        | new |               |  60 | completed after 1, ran with new       |  0
change input      | a line, then a delay       | ok          | pending        | new |               |  60 | completed after 1, ran with new       |  0
change input      | a retry's wait             | ok          | pending        | new |               |  14 | completed after 2, ran with new       |  0
change input      | a delay                    | ok          | pending        | new |               |  14 | completed after 1, ran with new       |  0
change input      | a wait for children        | conflict    | processing     | old |               | 800 | completed after 1                     |  0
change input      | an operator's retry        | ok          | pending        | new |               |  14 | completed after 1, ran with new       |  0
change input      | completed                  | conflict    | completed      | old |               |   0 | completed after 1                     |  0
change input      | failed                     | conflict    | failed         | old |               |   4 | failed after 1                        | 14
change input      | cancelled                  | conflict    | cancelled      | old |               |   0 | cancelled after 0                     |  0

change priority   | an attempt that completes  | conflict    | processing     | old |               |   0 | completed after 1                     |  0
change priority   | an attempt that is retried | conflict    | processing     | old |               |  14 | completed after 2, ran with old       |  0
change priority   | an attempt that sleeps     | conflict    | processing     | old |               |  14 | completed after 1, ran with old       |  0
change priority   | a sleep                    | ok          | pending high   | old |               |  14 | completed high after 1, ran with old  |  0
change priority   | a wait for a signal        | ok          | pending high   | old |               |  14 | completed high after 1, ran with old  |  0
change priority   | a wait in a line           | ok          | pending high   | old | high          |  60 | completed high after 1, ran with old  |  0
change priority   | a line, then a delay       | ok          | pending high   | old | later         |  60 | completed high after 1, ran with old  |  0
change priority   | a retry's wait             | ok          | pending high   | old | high          |  14 | completed high after 2, ran with old  |  0
change priority   | a delay                    | ok          | pending high   | old |               |  14 | completed high after 1, ran with old  |  0
change priority   | a wait for children        | conflict    | processing     | old |               | 800 | completed after 1                     |  0
change priority   | an operator's retry        | ok          | pending high   | old | high          |  14 | completed high after 1, ran with old  |  0
change priority   | completed                  | conflict    | completed      | old |               |   0 | completed after 1                     |  0
change priority   | failed                     | conflict    | failed         | old |               |   4 | failed after 1                        | 14
change priority   | cancelled                  | conflict    | cancelled      | old |               |   0 | cancelled after 0                     |  0

run now           | an attempt that completes  | not_waiting | processing     | old |               |   0 | completed after 1                     |  0
run now           | an attempt that is retried | not_waiting | processing     | old |               |  14 | completed after 2, ran with old       |  0
run now           | an attempt that sleeps     | not_waiting | processing     | old |               |  14 | completed after 1, ran with old       |  0
run now           | a sleep                    | not_waiting | pending        | old |               |  14 | completed after 1, ran with old       |  0
run now           | a wait for a signal        | not_waiting | pending        | old |               |  14 | completed after 1, ran with old       |  0
run now           | a wait in a line           | not_waiting | pending        | old |               |  60 | completed after 1, ran with old       |  0
run now           | a line, then a delay       | not_waiting | pending        | old |               |  60 | completed after 1, ran with old       |  0
run now           | a retry's wait             | ok          | pending        | old | normal        |  14 | completed after 2, ran with old       |  0
run now           | a delay                    | ok          | pending        | old | normal        |  14 | completed after 1, ran with old       |  0
run now           | a wait for children        | not_waiting | processing     | old |               | 800 | completed after 1                     |  0
run now           | an operator's retry        | not_waiting | pending        | old |               |  14 | completed after 1, ran with old       |  0
run now           | completed                  | not_waiting | completed      | old |               |   0 | completed after 1                     |  0
run now           | failed                     | not_waiting | failed         | old |               |   4 | failed after 1                        | 14
run now           | cancelled                  | not_waiting | cancelled      | old |               |   0 | cancelled after 0                     |  0

move the start    | an attempt that completes  | not_waiting | processing     | old |               |   0 | completed after 1                     |  0
move the start    | an attempt that is retried | not_waiting | processing     | old |               |  14 | completed after 2, ran with old       |  0
move the start    | an attempt that sleeps     | not_waiting | processing     | old |               |  14 | completed after 1, ran with old       |  0
move the start    | a sleep                    | not_waiting | pending        | old |               |  14 | completed after 1, ran with old       |  0
move the start    | a wait for a signal        | not_waiting | pending        | old |               |  14 | completed after 1, ran with old       |  0
move the start    | a wait in a line           | not_waiting | pending        | old |               |  60 | completed after 1, ran with old       |  0
move the start    | a line, then a delay       | not_waiting | pending        | old |               |  60 | completed after 1, ran with old       |  0
move the start    | a retry's wait             | ok          | pending        | old |               |  14 | completed after 2, ran with old       |  0
move the start    | a delay                    | ok          | pending        | old |               |  14 | completed after 1, ran with old       |  0
move the start    | a wait for children        | not_waiting | processing     | old |               | 800 | completed after 1                     |  0
move the start    | an operator's retry        | not_waiting | pending        | old |               |  14 | completed after 1, ran with old       |  0
move the start    | completed                  | not_waiting | completed      | old |               |   0 | completed after 1                     |  0
move the start    | failed                     | not_waiting | failed         | old |               |   4 | failed after 1                        | 14
move the start    | cancelled                  | not_waiting | cancelled      | old |               |   0 | cancelled after 0                     |  0

cancel            | an attempt that completes  | ok          | processing     | old |               |   0 | cancelled after 1                     |  0
cancel            | an attempt that is retried | ok          | processing     | old |               |   0 | cancelled after 1                     |  0
cancel            | an attempt that sleeps     | ok          | processing     | old |               |   0 | cancelled after 1                     |  0
cancel            | a sleep                    | ok          | cancelled      | old |               |   0 | cancelled after 0                     |  0
cancel            | a wait for a signal        | ok          | cancelled      | old |               |   0 | cancelled after 0                     |  0
cancel            | a wait in a line           | ok          | cancelled      | old |               |   0 | cancelled after 0                     |  0
cancel            | a line, then a delay       | ok          | cancelled      | old |               |   0 | cancelled after 0                     |  0
cancel            | a retry's wait             | ok          | cancelled      | old |               |   0 | cancelled after 1                     |  0
cancel            | a delay                    | ok          | cancelled      | old |               |   0 | cancelled after 0                     |  0
cancel            | a wait for children        | ok          | cancelled      | old |               |   0 | cancelled after 1                     |  0
cancel            | an operator's retry        | ok          | cancelled      | old |               |   0 | cancelled after 0                     |  0
cancel            | completed                  | conflict    | completed      | old |               |   0 | completed after 1                     |  0
cancel            | failed                     | conflict    | failed         | old |               |   4 | failed after 1                        | 14
cancel            | cancelled                  | conflict    | cancelled      | old |               |   0 | cancelled after 0                     |  0

replay            | an attempt that completes  | skipped     | processing     | old |               |   0 | completed after 1                     |  0
replay            | an attempt that is retried | skipped     | processing     | old |               |  14 | completed after 2, ran with old       |  0
replay            | an attempt that sleeps     | skipped     | processing     | old |               |  14 | completed after 1, ran with old       |  0
replay            | a sleep                    | skipped     | pending        | old |               |  14 | completed after 1, ran with old       |  0
replay            | a wait for a signal        | skipped     | pending        | old |               |  14 | completed after 1, ran with old       |  0
replay            | a wait in a line           | skipped     | pending        | old |               |  60 | completed after 1, ran with old       |  0
replay            | a line, then a delay       | skipped     | pending        | old |               |  60 | completed after 1, ran with old       |  0
replay            | a retry's wait             | skipped     | pending        | old |               |  14 | completed after 2, ran with old       |  0
replay            | a delay                    | skipped     | pending        | old |               |  14 | completed after 1, ran with old       |  0
replay            | a wait for children        | skipped     | processing     | old |               | 800 | completed after 1                     |  0
replay            | an operator's retry        | skipped     | pending        | old |               |  14 | completed after 1, ran with old       |  0
replay            | completed                  | skipped     | completed      | old |               |   0 | completed after 1                     |  0
replay            | failed                     | done        | pending        | old | normal normal |  14 | completed after 1, ran with old       |  0
replay            | cancelled                  | skipped     | cancelled      | old |               |   0 | cancelled after 0                     |  0

repeat the submit | an attempt that completes  | ok          | processing     | old |               |   0 | completed after 1                     |  0
repeat the submit | an attempt that is retried | ok          | processing     | old |               |  14 | completed after 2, ran with old       |  0
repeat the submit | an attempt that sleeps     | ok          | processing     | old |               |  14 | completed after 1, ran with old       |  0
repeat the submit | a sleep                    | ok          | pending        | old |               |  14 | completed after 1, ran with old       |  0
repeat the submit | a wait for a signal        | ok          | pending        | old |               |  14 | completed after 1, ran with old       |  0
repeat the submit | a wait in a line           | ok          | pending        | old | normal        |  60 | completed after 1, ran with old       |  0
repeat the submit | a line, then a delay       | ok          | pending        | old |               |  60 | completed after 1, ran with old       |  0
repeat the submit | a retry's wait             | ok          | pending        | old |               |  14 | completed after 2, ran with old       |  0
repeat the submit | a delay                    | ok          | pending        | old | later         |  14 | completed after 1, ran with old       |  0
repeat the submit | a wait for children        | ok          | processing     | old |               | 800 | completed after 1                     |  0
repeat the submit | an operator's retry        | ok          | pending        | old |               |  14 | completed after 1, ran with old       |  0
repeat the submit | completed                  | ok          | completed      | old |               |   0 | completed after 1                     |  0
repeat the submit | failed                     | ok          | failed         | old |               |   4 | failed after 1                        | 14
repeat the submit | cancelled                  | ok          | cancelled      | old |               |   0 | cancelled after 0                     |  0
`;

const rows = table
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => line.split("|").map((cell) => cell.trim()));

describe("what an operation does with a task in a state", () => {
  test.each(rows)("%s: %s", async (operation = "", state = "", ...expected) => {
    const [asked, found] = [operations[operation], states[state]];
    if (asked === undefined || found === undefined) throw new Error("no such operation or state");
    const { answer, after, shows, sent, keptDays, end, endKeptDays } = await seam(asked, found);
    expect([answer, after, shows, sent, `${keptDays}`, end, `${endKeptDays}`]).toEqual(expected);
  });

  test("the table has each pair once", () => {
    const pairs = Object.keys(operations).flatMap((name) => Object.keys(states).map((state) => `${name}: ${state}`));
    expect(rows.map(([operation, state]) => `${operation}: ${state}`)).toEqual(pairs);
  });
});
