import { SendMessageCommand, type SQSClient } from "#aws-sdk/client-sqs";
import { messageText } from "../core/model/envelope.ts";
import type { RuleChecks } from "../core/schedules/ports.ts";
import type { RuleCheck } from "../core/schedules/rule-input.ts";
import type { ScheduleKey } from "../core/schedules/schedule-record.ts";
import { viaPort } from "./errors.ts";

/** Longer than any client's request, so that the check comes after the request has ended. */
const delaySeconds = 60;

/** Requests checks of rules by messages in the firings queue. SQS delivers a message to fire until fire succeeds. */
export class SqsRuleChecks implements RuleChecks {
  readonly #client: SQSClient;
  readonly #queueUrl: string;

  constructor(client: SQSClient, queueUrl: string) {
    this.#client = client;
    this.#queueUrl = queueUrl;
  }

  async request({ tenant_id, schedule_id }: ScheduleKey): Promise<void> {
    const check: RuleCheck = { kind: "rule_check", tenant_id, schedule_id };
    const message = {
      QueueUrl: this.#queueUrl,
      MessageBody: messageText(check),
      MessageGroupId: tenant_id,
      DelaySeconds: delaySeconds,
    };
    await viaPort("the queue", this.#client.send(new SendMessageCommand(message)));
  }
}
