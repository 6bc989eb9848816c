import { CfnOutput, type Environment, Stack } from "aws-cdk-lib";
import type { CorsPreflightOptions } from "aws-cdk-lib/aws-apigatewayv2";
import {
  type Attribute,
  AttributeType,
  Billing,
  type GlobalSecondaryIndexPropsV2,
  ProjectionType,
  TableV2,
} from "aws-cdk-lib/aws-dynamodb";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import { indexes, type PerTier } from "../src/config.ts";
import { ContainerQueues } from "./container-queues.ts";
import { type ExistingBus, OwnEventBus } from "./event-bus.ts";
import { FileBucket } from "./file-bucket.ts";
import { perTier, title } from "./per-tier.ts";
import { DeadLetterQueue, NotifyQueue, RedriveQueue, TierQueue, type TierQueueProps } from "./queue.ts";
import { Scheduling } from "./scheduling.ts";
import { SharedNames, sharedBucket, sharedQueue, sharedRole, sharedTable } from "./shared-names.ts";
import { isDisposable, removalPolicyOf } from "./stage.ts";

export interface DataStackProps {
  /** @default - the account and Region of the credentials at deployment */
  readonly env?: Environment;
  readonly stackName: string;
  /** `dev` is disposable. Every other stage keeps its data and has termination protection. */
  readonly stage: string;
  /** Name of the fire function, which schedules invoke. */
  readonly fireName: string;
  /** Times of each tier, which its queue must outlast. */
  readonly times: PerTier<Pick<TierQueueProps, "timeout" | "batchWindow">>;
  /** Name of the deployment. */
  readonly deployment: string;
  /** @default - the deployment sends no events */
  readonly events?: true | ExistingBus;
  /**
   * Queues for container workers, with the name of the function that starts a container. Undefined: nothing starts one.
   * @default - no queues for container workers
   */
  readonly containers?: { readonly wakeName: string | undefined };
  /** @default - no CORS: web pages of other origins may not use the bucket */
  readonly cors?: CorsPreflightOptions;
}

const text = (name: string): Attribute => ({ name, type: AttributeType.STRING });

/** Attributes that lists can filter by without reading the record. They never change, so updates of a task write no index. */
const filterAttributes = ["task_id", "tenant_id", "type", "priority"];

/** The table's indexes. `src/aws/table.ts` describes their keys. */
const tableIndexes: GlobalSecondaryIndexPropsV2[] = [
  index(indexes.tenant, "tenant", filterAttributes),
  index(indexes.principal, "principal", filterAttributes),
  index(indexes.deadLetters, "dead_letter", ["task_id", "tenant_id"]),
];

/** Resources with data: the table, the bucket, the queues and the schedules. Deployments of code do not replace them. */
export class DataStack extends Stack {
  readonly table: TableV2;
  /** Files, large inputs and large results. */
  readonly bucket: FileBucket;
  /** The tiers' queues. */
  readonly queues: PerTier<TierQueue>;
  /** The tiers' DLQs. Worker and redrive send dead letters to them. */
  readonly dlqs: PerTier<DeadLetterQueue>;
  /** Messages that the tier queues gave up on. The redrive function handles them. */
  readonly redriveQueue: RedriveQueue;
  /** Messages that the redrive function could not handle. */
  readonly redriveDlq: DeadLetterQueue;
  /** Notices for webhooks, channels and events. The notify function reads them. */
  readonly notifyQueue: NotifyQueue;
  /** Notices that the notify function could not handle. */
  readonly notifyDlq: DeadLetterQueue;
  /** The queues of container workers. Undefined: the deployment has none. */
  readonly containerQueues: ContainerQueues | undefined;
  readonly scheduling: Scheduling;
  /** The event bus of the tasks' ends. Undefined: the deployment sends no events. */
  readonly events: OwnEventBus | undefined;
  /** Names for the references of the service stack. */
  readonly names: SharedNames;

  constructor(scope: Construct, id: string, props: DataStackProps) {
    const { stage, stackName } = props;
    super(scope, id, {
      stackName,
      ...(props.env !== undefined && { env: props.env }),
      description: `Offload ${stage}: data`,
      terminationProtection: !isDisposable(stage),
    });
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
    this.bucket = new FileBucket(this, "Bucket", { stage, cors: props.cors });
    const redriveDlq = new DeadLetterQueue(this, "RedriveDlq", removalPolicy);
    const redriveQueue = new RedriveQueue(this, "RedriveQueue", { deadLetterQueue: redriveDlq, removalPolicy });
    this.redriveDlq = redriveDlq;
    this.redriveQueue = redriveQueue;
    this.queues = perTier(
      (tier) =>
        new TierQueue(this, `${title(tier)}Queue`, {
          redriveQueue,
          removalPolicy,
          ...props.times[tier],
        }),
    );
    this.dlqs = perTier((tier) => new DeadLetterQueue(this, `${title(tier)}Dlq`, removalPolicy));
    this.notifyDlq = new DeadLetterQueue(this, "NotifyDlq", removalPolicy);
    this.notifyQueue = new NotifyQueue(this, "NotifyQueue", { deadLetterQueue: this.notifyDlq, removalPolicy });
    const { containers } = props;
    this.containerQueues =
      containers && new ContainerQueues(this, "Containers", { ...containers, redriveQueue, removalPolicy });
    this.scheduling = new Scheduling(this, "Scheduling", { fireName: props.fireName, removalPolicy });
    const { events, deployment } = props;
    this.events = events && new OwnEventBus(this, "Events", { deployment, events, removalPolicy });
    this.names = this.shareNames();
    // For operators: `--table` of the command line. Other resources are found by their logical ids.
    new CfnOutput(this, "TableName", { value: this.table.tableName });
  }

  /** All queues that tasks are sent to: those of the tiers, and those of container workers. */
  get mainQueues(): readonly IQueue[] {
    return [...Object.values(this.queues), ...(this.containerQueues?.all ?? [])];
  }

  private shareNames(): SharedNames {
    const { firings, dlq, role } = this.scheduling;
    const queues = [this.redriveQueue, this.redriveDlq, firings, dlq];
    const ofTiers = [...Object.values(this.queues), ...Object.values(this.dlqs)];
    const names = [...queues, ...ofTiers].map(sharedQueue);
    return new SharedNames(this, "Names", [
      sharedTable(this.table),
      sharedRole(role),
      ...names,
      sharedBucket(this.bucket),
      sharedQueue(this.notifyQueue),
      sharedQueue(this.notifyDlq),
      ...(this.containerQueues?.all ?? []).map(sharedQueue),
    ]);
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
