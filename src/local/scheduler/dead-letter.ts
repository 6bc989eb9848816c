import type { NewMessage } from "../sqs/queue-message.ts";
import type { LostFiring } from "./schedule-engine.ts";

/**
 * The message that a dead-letter queue gets of a firing. AWS documents its attributes, and that its body has the
 * details of the invocation: here it is the request that should have invoked the function.
 */
export function deadLetterOf(lost: LostFiring): NewMessage {
  const { arn, input, scheduleArn, scheduledTime, executionId, attempt, error } = lost;
  const attributes: Record<string, string> = {
    ERROR_CODE: "AWS.Scheduler.InternalServerError",
    ERROR_MESSAGE: error,
    EXECUTION_ID: executionId,
    IS_PAYLOAD_TRUNCATED: "false",
    RETRY_ATTEMPTS: String(attempt - 1),
    SCHEDULED_TIME: scheduledTime,
    SCHEDULE_ARN: scheduleArn,
    TARGET_ARN: arn,
  };
  return {
    body: JSON.stringify({ FunctionName: arn, InvocationType: "Event", Payload: input }),
    messageAttributes: Object.fromEntries(
      Object.entries(attributes).map(([name, StringValue]) => [name, { DataType: "String", StringValue }]),
    ),
  };
}
