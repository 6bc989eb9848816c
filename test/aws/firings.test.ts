import type { SQSEvent } from "aws-lambda";
import { expect, test } from "vitest";
import { firingsOf } from "../../src/aws/firings.ts";
import { readPayload } from "../../src/core/schedules/fire.ts";

const eventWith = (body: string, attributes: Record<string, string>): SQSEvent => {
  const messageAttributes = Object.fromEntries(
    Object.entries(attributes).map(([name, stringValue]) => [name, { dataType: "String", stringValue }]),
  );
  return { Records: [{ body, messageAttributes }] } as unknown as SQSEvent;
};

test("EventBridge Scheduler's own event is the payload", () => {
  expect(firingsOf({ kind: "task" })).toEqual([{ payload: { kind: "task" } }]);
  expect(firingsOf(null)).toEqual([{ payload: null }]);
});

test("a message of EventBridge Scheduler says what is known of the firing", () => {
  const scheduleArn = "arn:aws:scheduler:eu-west-1:1:schedule/offload/s";
  const attributes = {
    ERROR_CODE: "AWS.Scheduler.InternalServerError",
    ERROR_MESSAGE: "The role may not invoke the function.",
    EXECUTION_ID: "e",
    RETRY_ATTEMPTS: "185",
    SCHEDULED_TIME: "2027-01-01T00:00:00Z",
    SCHEDULE_ARN: scheduleArn,
    TARGET_ARN: "arn:f",
  };
  expect(firingsOf(eventWith('{"scheduled_for":"<aws.scheduler.scheduled-time>"}', attributes))).toEqual([
    {
      payload: '{"scheduled_for":"2027-01-01T00:00:00Z"}',
      scheduleArn,
      scheduledFor: "2027-01-01T00:00:00Z",
      error: "AWS.Scheduler.InternalServerError: The role may not invoke the function.",
    },
  ]);
});

test("a message of Lambda has the error of the function", () => {
  const attributes = { RequestID: "r", ErrorCode: "200", ErrorMessage: "the table is unavailable" };
  expect(firingsOf(eventWith("{}", attributes))).toEqual([{ payload: "{}", error: "200: the table is unavailable" }]);
});

test("a message without attributes has its payload only", () => {
  expect(firingsOf(eventWith("rubbish", {}))).toEqual([{ payload: "rubbish" }]);
});

test("an input with a message that is none is an error, so that Lambda tries it again, and its dead letter is unreadable", () => {
  const input = { Records: [null], verify: "mine" };
  expect(() => firingsOf(input)).toThrow(TypeError);
  const [letter] = firingsOf(eventWith(JSON.stringify(input), { ErrorCode: "200", ErrorMessage: "no" }));
  expect(letter).toMatchObject({ payload: JSON.stringify(input), error: "200: no" });
  expect(readPayload(letter?.payload)).toBeUndefined();
});
