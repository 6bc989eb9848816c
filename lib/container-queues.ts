import { ArnFormat, type RemovalPolicy, Stack } from "aws-cdk-lib";
import { type IGrantable, PolicyStatement } from "aws-cdk-lib/aws-iam";
import { Construct } from "constructs";
import type { PerTier, SettingTexts } from "../src/settings/config.ts";
import { perTier, title } from "./per-tier.ts";
import { ContainerQueue, type RedriveQueue } from "./queue.ts";

export interface ContainerQueuesProps {
  /** Receives messages that a queue gives up on. */
  readonly redriveQueue: RedriveQueue;
  readonly removalPolicy: RemovalPolicy;
  /** Name of the function that starts a container. Undefined: the deployment has no containers of its own. */
  readonly wakeName: string | undefined;
}

/** The queues of tasks that run in container workers. Their dead letters and their redrive are those of the tiers. */
export class ContainerQueues extends Construct {
  readonly ofTiers: PerTier<ContainerQueue>;
  private readonly wakeName: string | undefined;

  constructor(scope: Construct, id: string, { redriveQueue, removalPolicy, wakeName }: ContainerQueuesProps) {
    super(scope, id);
    this.wakeName = wakeName;
    this.ofTiers = perTier((tier) => new ContainerQueue(this, title(tier), { redriveQueue, removalPolicy }));
  }

  get all(): readonly ContainerQueue[] {
    return Object.values(this.ofTiers);
  }

  /** Setting of the functions and containers that send or receive these messages. */
  get settings(): SettingTexts {
    return { containerQueueUrls: perTier((tier) => this.ofTiers[tier].queueUrl) };
  }

  /** Settings of the functions that send these messages. */
  get senderSettings(): SettingTexts {
    return { ...this.settings, ...(this.wakeName !== undefined && { wakeFunction: this.wakeName }) };
  }

  /** Grants starting the function that starts a container: nothing else, so that no sender may change the service. */
  allowWake(grantee: IGrantable): void {
    if (this.wakeName === undefined) return;
    // Its fixed name, as a reference would make the stack of the queues depend on that of the functions.
    const wake = Stack.of(this).formatArn({
      service: "lambda",
      resource: "function",
      resourceName: this.wakeName,
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
    grantee.grantPrincipal.addToPrincipalPolicy(
      new PolicyStatement({ actions: ["lambda:InvokeFunction"], resources: [wake] }),
    );
  }
}
