import type { SQSEvent, SQSRecord } from "aws-lambda";
import type { Arrived } from "../core/schedules/fire.ts";
import { scheduledTime } from "../core/schedules/rule-input.ts";

/** The firings of an event: of EventBridge or its Scheduler, or of the queue of firings that failed. */
export const firingsOf = (event: unknown): Arrived[] =>
  typeof event === "object" && event !== null && "Records" in event
    ? (event as SQSEvent).Records.map(failedFiring)
    : [{ payload: event }];

/** A message of the queue. EventBridge, EventBridge Scheduler and Lambda write attributes of different names. */
function failedFiring({ body, messageAttributes }: SQSRecord): Arrived {
  const attribute = (name: string) => messageAttributes[name]?.stringValue;
  const scheduledFor = attribute("SCHEDULED_TIME");
  const error = [
    attribute("ERROR_CODE") ?? attribute("ErrorCode"),
    attribute("ERROR_MESSAGE") ?? attribute("ErrorMessage"),
  ];
  return {
    // An input that was never delivered may still have the name of the time instead of the time.
    payload: scheduledFor === undefined ? body : body.replaceAll(scheduledTime, scheduledFor),
    scheduleArn: attribute("SCHEDULE_ARN"),
    ruleArn: attribute("RULE_ARN"),
    scheduledFor,
    error: error.filter((part) => part !== undefined).join(": ") || undefined,
  };
}
