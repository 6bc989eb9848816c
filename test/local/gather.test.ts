import { expect, test } from "vitest";
import { gather } from "../../src/local/lambda/event-source.ts";

test.each([
  { visible: [1, 9], incoming: [], waits: 1, title: "waits once for a message that is alone" },
  { visible: [2, 2, 9], incoming: [], waits: 2, title: "waits again while more messages come" },
  { visible: [9, 10, 11], incoming: [], waits: 2, title: "does not wait when a batch is full" },
  { visible: [2, 3, 4, 5, 6, 7], incoming: [], waits: 5, title: "waits five times at most" },
  { visible: [0, 9], incoming: [1, 1], waits: 1, title: "does not wait for messages that are gone" },
  { visible: [1, 1, 4, 4], incoming: [3, 3, 0, 0], waits: 4, title: "waits while tasks are being submitted" },
])("an event source $title", async ({ visible, incoming, waits }) => {
  let waited = 0;
  const queue = { visible: () => visible[waited - 1] ?? 0, incoming: () => incoming[waited - 1] ?? 0 };
  await gather(queue, async () => {
    waited += 1;
  });
  expect(waited).toBe(waits);
});

test("an event source does not wait while a whole batch is there", async () => {
  let waited = 0;
  await gather({ visible: () => 10, incoming: () => 3 }, async () => {
    waited += 1;
  });
  expect(waited).toBe(0);
});
