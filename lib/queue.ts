import { Duration, type RemovalPolicy, Validations } from "aws-cdk-lib";
import { Queue, QueueEncryption, type QueueProps, RedrivePermission } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import { maxReceiveCount, workerTimeoutSeconds } from "../src/config.ts";

/** Time-out of the redrive function. */
export const redriveTimeout = Duration.minutes(1);

/** AWS asks for a visibility of six function time-outs and the batch window, so that throttled retries fit into one receive. */
const visibilityFor = (timeout: Duration, batchWindow = Duration.seconds(0)): Duration =>
  Duration.seconds(timeout.toSeconds() * 6 + batchWindow.toSeconds());

/** The time-out of a worker function. */
export const workerTimeout = Duration.seconds(workerTimeoutSeconds);

/**
 * Receives until redrive itself gives up: two hours of an outage. Well above the tiers' own number, as AWS does not say
 * that a message's count starts again when it is moved.
 */
const redriveMaxReceiveCount = maxReceiveCount + 15;

const keepsLongest = Duration.days(14);

/** A queue that is encrypted, and that refuses requests without TLS. */
class PipelineQueue extends Queue {
  constructor(scope: Construct, id: string, props: QueueProps) {
    super(scope, id, { encryption: QueueEncryption.SQS_MANAGED, enforceSSL: true, ...props });
  }
}

/** Where messages end for good: a person or an operation takes them out. */
export class DeadLetterQueue extends PipelineQueue {
  constructor(scope: Construct, id: string, removalPolicy: RemovalPolicy) {
    super(scope, id, { retentionPeriod: keepsLongest, removalPolicy });
    const reason = "It is a dead-letter queue itself; an alarm watches its depth.";
    Validations.of(this).acknowledge({ id: "AwsSolutions-SQS3", reason });
    Validations.of(this).acknowledge({ id: "Serverless-SQSRedrivePolicy", reason });
  }
}

export interface RedriveQueueProps {
  /** Takes what redrive itself cannot handle. */
  readonly deadLetterQueue: DeadLetterQueue;
  readonly removalPolicy: RemovalPolicy;
}

/** Takes what tier queues gave up on. A moved message keeps its age, so this queue keeps messages longer than theirs. */
export class RedriveQueue extends PipelineQueue {
  constructor(scope: Construct, id: string, props: RedriveQueueProps) {
    super(scope, id, {
      retentionPeriod: keepsLongest,
      visibilityTimeout: visibilityFor(redriveTimeout),
      deadLetterQueue: { queue: props.deadLetterQueue, maxReceiveCount: redriveMaxReceiveCount },
      removalPolicy: props.removalPolicy,
    });
  }
}

/** Time-out of the fire function: one firing may submit a task for each of thousands of tenants. */
export const fireTimeout = Duration.minutes(5);

/** Receives until a firing is given up: ten hours of an outage. */
const firingMaxReceiveCount = 20;

export interface FiringQueueProps {
  /** Takes firings that fail all the time. */
  readonly deadLetterQueue: DeadLetterQueue;
  readonly removalPolicy: RemovalPolicy;
}

/** Takes firings that fire could not handle, for another try: EventBridge Scheduler invokes asynchronously, and Lambda tries three times only. */
export class FiringQueue extends PipelineQueue {
  constructor(scope: Construct, id: string, props: FiringQueueProps) {
    super(scope, id, {
      retentionPeriod: Duration.days(7),
      visibilityTimeout: visibilityFor(fireTimeout),
      deadLetterQueue: { queue: props.deadLetterQueue, maxReceiveCount: firingMaxReceiveCount },
      removalPolicy: props.removalPolicy,
    });
  }
}

export interface TierQueueProps {
  /** Takes what the tier gives up on. */
  readonly redriveQueue: RedriveQueue;
  readonly removalPolicy: RemovalPolicy;
  /** How long a message may wait in Lambda's hands for a batch to fill. */
  readonly batchWindow: Duration;
}

/** One tier's queue. */
export class TierQueue extends PipelineQueue {
  constructor(scope: Construct, id: string, props: TierQueueProps) {
    super(scope, id, {
      retentionPeriod: Duration.days(7),
      visibilityTimeout: visibilityFor(workerTimeout, props.batchWindow),
      deadLetterQueue: { queue: props.redriveQueue, maxReceiveCount },
      // The other direction, naming the tier queues in the redrive queue, would make the two depend on each other.
      redriveAllowPolicy: { redrivePermission: RedrivePermission.DENY_ALL },
      removalPolicy: props.removalPolicy,
    });
  }
}
