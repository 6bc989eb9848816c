import { expect, test } from "vitest";
import { firingsOf } from "../../../src/aws/firings.ts";
import { readPayload } from "../../../src/core/schedules/fire.ts";
import { eventOf } from "../../../src/local/lambda/event-source.ts";
import { deadLetterOf } from "../../../src/local/scheduler/dead-letter.ts";
import { QueueStore } from "../../../src/local/sqs/queue-store.ts";

test("fire reads a firing that went to the queue of failed firings", () => {
  const payload = { kind: "task", tenant_id: "acme", task_id: "t" };
  const scheduleArn = "arn:aws:scheduler:us-east-1:000000000000:schedule/offload/t.0.1";
  const message = deadLetterOf({
    arn: "arn:aws:lambda:us-east-1:000000000000:function:fire",
    input: JSON.stringify(payload),
    scheduleArn,
    scheduledTime: "2027-01-01T00:00:00Z",
    executionId: "e",
    attempt: 186,
    dlqArn: "arn:aws:sqs:us-east-1:000000000000:offload-firings",
    error: "Error: the function is down",
  });
  const store = new QueueStore({});
  store.send("q", message);
  const [arrived] = firingsOf(eventOf("q", store.receive("q", 1)));
  store.close();
  expect(readPayload(arrived?.payload)).toEqual(payload);
  expect(arrived).toMatchObject({ scheduleArn, error: expect.stringContaining("the function is down") });
});
