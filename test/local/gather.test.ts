import { expect, test } from "vitest";
import { gather } from "../../src/local/lambda/event-source.ts";

test.each([
  { counts: [1, 9], waits: 1, title: "waits once for a message that is alone" },
  { counts: [2, 2, 9], waits: 2, title: "waits again while more messages come" },
  { counts: [9, 10, 11], waits: 2, title: "does not wait when a batch is full" },
  { counts: [2, 3, 4, 5], waits: 3, title: "waits three times at most" },
  { counts: [0, 9], waits: 1, title: "does not wait for messages that are gone" },
])("an event source $title", async ({ counts, waits }) => {
  let waited = 0;
  await gather(
    () => counts[waited - 1] ?? 0,
    async () => {
      waited += 1;
    },
  );
  expect(waited).toBe(waits);
});
