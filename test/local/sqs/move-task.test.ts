import { expect, test } from "vitest";
import { MoveTask } from "../../../src/local/sqs/move-task.ts";
import { defaultSettings, queueArn } from "../../../src/local/sqs/queue-message.ts";
import { QueueStore } from "../../../src/local/sqs/queue-store.ts";
import { FakeClock } from "../fake-clock.ts";

function startMove(count: number, perSecond: number) {
  const clock = new FakeClock();
  const store = new QueueStore({ clock });
  store.define("dlq", defaultSettings);
  for (let number = 0; number < count; number += 1) store.send("dlq", { body: String(number) });
  const destinationArn = queueArn("q");
  const task = new MoveTask({ store, clock, source: "dlq", destinationArn, perSecond, exists: () => true });
  return { clock, store, task };
}

test("a move task moves the given number of messages a second, and none that came later", async () => {
  const { clock, store, task } = startMove(5, 2);
  store.send("dlq", { body: "later" });
  expect(store.counts("q").visible).toBe(2);
  await clock.advance(1);
  expect(task.state()).toMatchObject({ Status: "RUNNING", ApproximateNumberOfMessagesMoved: 4 });
  await clock.advance(1);
  expect(task.state()).toMatchObject({ Status: "COMPLETED", ApproximateNumberOfMessagesMoved: 5 });
  expect(store.receive("dlq", 10)).toMatchObject([{ body: "later" }]);
});

test("a cancelled move task moves no more messages", async () => {
  const { clock, store, task } = startMove(5, 2);
  expect(task.cancel()).toBe(2);
  await clock.advance(10);
  expect(task.state()).toMatchObject({ Status: "CANCELLED" });
  expect(store.counts("dlq").visible).toBe(3);
});
