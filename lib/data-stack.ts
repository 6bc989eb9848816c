import { CfnOutput, type Stack } from "aws-cdk-lib";
import type { CorsPreflightOptions } from "aws-cdk-lib/aws-apigatewayv2";
import {
  type Attribute,
  AttributeType,
  Billing,
  type CfnGlobalTable,
  type GlobalSecondaryIndexPropsV2,
  ProjectionType,
  TableV2,
} from "aws-cdk-lib/aws-dynamodb";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import { indexes, type PerTier } from "../src/settings/config.ts";
import { disposableKey } from "../src/tools/doctor/accepted.ts";
import { ContainerQueues } from "./container-queues.ts";
import { allowServices } from "./encryption.ts";
import { type ExistingBus, OwnEventBus } from "./event-bus.ts";
import { FileBucket } from "./file-bucket.ts";
import { perTier, title } from "./per-tier.ts";
import { PipelineStack, type Place, placeOf } from "./pipeline-stack.ts";
import { DeadLetterQueue, NotifyQueue, RedriveQueue, TierQueue, type TierQueueProps } from "./queue.ts";
import { Scheduling } from "./scheduling.ts";
import { SharedNames, sharedBucket, sharedQueue, sharedRole, sharedTable } from "./shared-names.ts";
import { removalPolicyOf } from "./stage.ts";

export interface DataStackProps extends Place {
  readonly stackName: string;
  readonly stage: string;
  /** True for termination protection, and to keep data when the stack is deleted. */
  readonly keepsData: boolean;
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

/**
 * Attributes that lists can filter by without reading the record. They never change, so updates of a task write no
 * index.
 */
const filterAttributes = ["task_id", "tenant_id", "type", "priority"];

/** The table's indexes. `src/aws/table.ts` describes their keys. */
const tableIndexes: GlobalSecondaryIndexPropsV2[] = [
  index(indexes.tenant, "tenant", filterAttributes),
  index(indexes.principal, "principal", filterAttributes),
  index(indexes.deadLetters, "dead_letter", ["task_id", "tenant_id"]),
];

/**
 * Resources with data: the table, the bucket, the queues and the schedules. Deployments of code do not replace them.
 */
export class DataStack extends PipelineStack {
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
  /** Other stacks that refer to these resources. */
  private readonly users = new Set<Stack>();

  constructor(scope: Construct, id: string, props: DataStackProps) {
    const { stage, stackName, keepsData } = props;
    super(scope, id, {
      stackName,
      ...placeOf(props),
      description: `Offload ${stage}: data`,
      terminationProtection: keepsData,
    });
    const removalPolicy = removalPolicyOf(keepsData);
    if (!keepsData && stage !== "dev") this.templateOptions.metadata = { [disposableKey]: true };
    this.table = new TableV2(this, "Table", {
      partitionKey: text("pk"),
      sortKey: text("sk"),
      globalSecondaryIndexes: tableIndexes,
      timeToLiveAttribute: "purge_at",
      billing: Billing.onDemand(),
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      deletionProtection: keepsData,
      removalPolicy,
    });
    if (props.encryptionKey !== undefined) encryptTable(this.table, props.encryptionKey);
    this.bucket = new FileBucket(this, "Bucket", { keepsData, cors: props.cors, users: this.users });
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
    this.events = events && new OwnEventBus(this, "Events", { deployment, events });
    this.names = this.shareNames();
    allowServices(this, deployment);
    // For operators: `--table` of the command line. Other resources are found by their logical ids.
    new CfnOutput(this, "TableName", { value: this.table.tableName });
  }

  /** Lets another stack refer to the table, the bucket and the queues. */
  useIn(stack: Stack): void {
    this.users.add(stack);
    this.names.useIn(stack);
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

/** Encrypts a table with a key. The CDK's own option needs a stack that knows its Region. */
function encryptTable(table: TableV2, key: IKey): void {
  const resource = table.node.defaultChild as CfnGlobalTable;
  resource.sseSpecification = { sseEnabled: true, sseType: "KMS" };
  resource.addPropertyOverride("Replicas.0.SSESpecification", { KMSMasterKeyId: key.keyArn });
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
