import type { IGrantable } from "aws-cdk-lib/aws-iam";
import type { IConstruct } from "constructs";
import type { SettingTexts } from "../src/settings/config.ts";
import { allowSend, allowSendTasks, allowTable, allowTableKeys } from "./access.ts";
import type { DataStack } from "./data-stack.ts";
import { perTier } from "./per-tier.ts";

/** Settings and permissions of functions that dispatch tasks to tiers, directly or with a schedule. */
export class Dispatch {
  readonly settings: SettingTexts;
  private readonly data: DataStack;

  /** @param tells Settings of the subscribers of tasks: events, channels. */
  constructor(data: DataStack, listSettings: SettingTexts, tells: SettingTexts) {
    this.data = data;
    this.settings = {
      table: data.table.tableName,
      bucket: data.bucket.bucketName,
      queueUrls: perTier((tier) => data.queues[tier].queueUrl),
      dlqUrls: perTier((tier) => data.dlqs[tier].queueUrl),
      ...data.containerQueues?.senderSettings,
      notifyUrl: data.notifyQueue.queueUrl,
      ...tells,
      ...data.scheduling.settings,
      ...listSettings,
    };
  }

  /** Grants telling of tasks. */
  allowTell(grantee: IConstruct & IGrantable): void {
    allowSend(grantee, [this.data.notifyQueue]);
    // To find out whether the tenant has receivers of webhooks.
    allowTableKeys(grantee, this.data.table, ["GetItem"], ["flow"]);
    // To find channels.
    if (this.settings.notifyPush === "1") allowTable(grantee, this.data.table, ["BatchGetItem"]);
  }

  /** Grants sending to any tier, creating schedules for long waits, and telling of tasks. */
  allow(grantee: IConstruct & IGrantable): void {
    this.allowTell(grantee);
    allowSendTasks(grantee, this.data);
    this.data.scheduling.allowCreate(grantee);
  }
}
