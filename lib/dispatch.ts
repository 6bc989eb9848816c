import type { IGrantable } from "aws-cdk-lib/aws-iam";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import type { IConstruct } from "constructs";
import type { SettingTexts } from "../src/config.ts";
import { allowSend } from "./access.ts";
import type { DataStack } from "./data-stack.ts";
import { perTier } from "./per-tier.ts";

/** Settings and permissions of functions that dispatch tasks to tiers, directly or with a schedule. */
export class Dispatch {
  readonly settings: SettingTexts;
  private readonly data: DataStack;
  private readonly queues: readonly IQueue[];

  constructor(data: DataStack, listSettings: SettingTexts) {
    this.data = data;
    this.queues = Object.values(data.queues);
    this.settings = {
      table: data.table.tableName,
      bucket: data.bucket.bucketName,
      queueUrls: perTier((tier) => data.queues[tier].queueUrl),
      dlqUrls: perTier((tier) => data.dlqs[tier].queueUrl),
      ...data.scheduling.settings,
      ...listSettings,
    };
  }

  /** Grants sending to any tier, and creating schedules for long waits. */
  allow(grantee: IConstruct & IGrantable): void {
    allowSend(grantee, this.queues);
    this.data.scheduling.allowCreate(grantee);
  }
}
