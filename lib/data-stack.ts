import { CfnOutput, type Duration, Stack } from "aws-cdk-lib";
import {
  type Attribute,
  AttributeType,
  Billing,
  type GlobalSecondaryIndexPropsV2,
  ProjectionType,
  TableV2,
} from "aws-cdk-lib/aws-dynamodb";
import type { Construct } from "constructs";
import { indexes, type PerTier } from "../src/config.ts";
import { tiers } from "../src/core/tier.ts";
import { perTier, title } from "./per-tier.ts";
import { DeadLetterQueue, RedriveQueue, TierQueue } from "./queue.ts";
import { Scheduling } from "./scheduling.ts";
import { isDisposable, removalPolicyOf } from "./stage.ts";

export interface DataStackProps {
  readonly stackName: string;
  /** `dev` can be thrown away; every other stage keeps its data and refuses to be deleted. */
  readonly stage: string;
  /** Name of the fire function, which schedules are to invoke. */
  readonly fireName: string;
  /** How long each tier's messages may wait in Lambda's hands for a batch to fill. */
  readonly batchWindows: PerTier<Duration>;
}

const text = (name: string): Attribute => ({ name, type: AttributeType.STRING });

/** What lists may filter by without reading the record. All of it never changes, so that no change of a task writes an index. */
const listed = ["task_id", "tenant_id", "type", "priority"];

/** The table's indexes. `src/aws/table.ts` says what their keys hold. */
const tableIndexes: GlobalSecondaryIndexPropsV2[] = [
  index(indexes.tenant, "tenant", listed),
  index(indexes.principal, "principal", listed),
  index(indexes.deadLetters, "dead_letter", ["task_id", "tenant_id"]),
];

/** What must outlive any deployment of code: the table, the queues and the schedules. */
export class DataStack extends Stack {
  readonly table: TableV2;
  /** The tiers' queues. */
  readonly queues: PerTier<TierQueue>;
  /** The tiers' final dead letters, sent by worker and redrive. */
  readonly dlqs: PerTier<DeadLetterQueue>;
  /** What the tier queues gave up on, for redrive to decide. */
  readonly redriveQueue: RedriveQueue;
  /** What redrive could not decide. */
  readonly redriveDlq: DeadLetterQueue;
  readonly scheduling: Scheduling;

  constructor(scope: Construct, id: string, props: DataStackProps) {
    const { stage, stackName } = props;
    super(scope, id, { stackName, description: `Offload ${stage}: data`, terminationProtection: !isDisposable(stage) });
    const removalPolicy = removalPolicyOf(stage);
    this.table = new TableV2(this, "Table", {
      partitionKey: text("pk"),
      sortKey: text("sk"),
      globalSecondaryIndexes: tableIndexes,
      timeToLiveAttribute: "purge_at",
      billing: Billing.onDemand(),
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      deletionProtection: !isDisposable(stage),
      removalPolicy,
    });
    const redriveDlq = new DeadLetterQueue(this, "RedriveDlq", removalPolicy);
    const redriveQueue = new RedriveQueue(this, "RedriveQueue", { deadLetterQueue: redriveDlq, removalPolicy });
    this.redriveDlq = redriveDlq;
    this.redriveQueue = redriveQueue;
    this.queues = perTier(
      (tier) =>
        new TierQueue(this, `${title(tier)}Queue`, {
          redriveQueue,
          removalPolicy,
          batchWindow: props.batchWindows[tier],
        }),
    );
    this.dlqs = perTier((tier) => new DeadLetterQueue(this, `${title(tier)}Dlq`, removalPolicy));
    this.scheduling = new Scheduling(this, "Scheduling", { fireName: props.fireName, removalPolicy });
    this.addOutputs();
  }

  /** The deployed counterpart of what the local server's `/health` lists, and what the runbook's commands name. */
  private addOutputs(): void {
    new CfnOutput(this, "TableName", { value: this.table.tableName });
    new CfnOutput(this, "RedriveDlqArn", { value: this.redriveDlq.queueArn });
    new CfnOutput(this, "FiringsDlqArn", { value: this.scheduling.dlq.queueArn });
    for (const tier of tiers) {
      new CfnOutput(this, `${title(tier)}QueueUrl`, { value: this.queues[tier].queueUrl });
      new CfnOutput(this, `${title(tier)}DlqUrl`, { value: this.dlqs[tier].queueUrl });
    }
  }
}

function index(indexName: string, keys: string, nonKeyAttributes: string[]): GlobalSecondaryIndexPropsV2 {
  return {
    indexName,
    partitionKey: text(`${keys}_pk`),
    sortKey: text(`${keys}_sk`),
    projectionType: ProjectionType.INCLUDE,
    nonKeyAttributes,
  };
}
