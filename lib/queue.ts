import { Duration, type RemovalPolicy, Validations } from "aws-cdk-lib";
import { Queue, QueueEncryption, type QueueProps, RedrivePermission } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import { maxReceiveCount } from "../src/settings/config.ts";
import { keyOf } from "./encryption.ts";

/** Time-out of the redrive function. */
export const redriveTimeout = Duration.minutes(1);

/**
 * AWS advises six function time-outs plus the batching window, so that throttled invocations can be retried in time.
 */
const visibilityFor = (timeout: Duration, batchWindow = Duration.seconds(0)): Duration =>
  Duration.seconds(timeout.toSeconds() * 6 + batchWindow.toSeconds());

/**
 * Receives until the redrive queue gives up: two hours of an outage. Well above the tiers' number, because AWS does not
 * document that a message's receive count starts again when the message moves to another queue.
 */
const redriveMaxReceiveCount = maxReceiveCount + 15;

/** The maximum of SQS. */
const longestRetention = Duration.days(14);

/** An encrypted queue that refuses requests without TLS. */
class PipelineQueue extends Queue {
  constructor(scope: Construct, id: string, props: QueueProps) {
    const key = keyOf(scope);
    const encryption =
      key === undefined
        ? { encryption: QueueEncryption.SQS_MANAGED }
        : { encryption: QueueEncryption.KMS, encryptionMasterKey: key };
    super(scope, id, { ...encryption, enforceSSL: true, ...props });
  }
}

/** A dead-letter queue. Only an operator or an operation removes its messages. */
export class DeadLetterQueue extends PipelineQueue {
  constructor(scope: Construct, id: string, removalPolicy: RemovalPolicy) {
    super(scope, id, { retentionPeriod: longestRetention, removalPolicy });
    const reason = "It is a dead-letter queue itself; an alarm watches its depth.";
    Validations.of(this).acknowledge({ id: "AwsSolutions-SQS3", reason });
    Validations.of(this).acknowledge({ id: "Serverless-SQSRedrivePolicy", reason });
  }
}

export interface RedriveQueueProps {
  /** Receives messages that the redrive function cannot handle. */
  readonly deadLetterQueue: DeadLetterQueue;
  readonly removalPolicy: RemovalPolicy;
}

/** Receives messages that tier queues gave up on. A moved message keeps its age. */
export class RedriveQueue extends PipelineQueue {
  constructor(scope: Construct, id: string, props: RedriveQueueProps) {
    super(scope, id, {
      retentionPeriod: longestRetention,
      visibilityTimeout: visibilityFor(redriveTimeout),
      deadLetterQueue: { queue: props.deadLetterQueue, maxReceiveCount: redriveMaxReceiveCount },
      removalPolicy: props.removalPolicy,
    });
  }
}

/** Time-out of the fire function. One firing may submit tasks for thousands of tenants. */
export const fireTimeout = Duration.minutes(5);

/** Receives until the firing queue gives up: ten hours of an outage. */
const firingMaxReceiveCount = 20;

export interface FiringQueueProps {
  /** Receives firings that failed on every receive. */
  readonly deadLetterQueue: DeadLetterQueue;
  readonly removalPolicy: RemovalPolicy;
}

/** Receives failed firings for more retries, because Lambda tries an asynchronous invocation only three times. */
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

/** Time-out of the notify function. One try of a webhook takes at most ten seconds. */
export const notifyTimeout = Duration.seconds(30);

/** Receives until the notify queue gives up: an hour of an outage. */
const notifyMaxReceiveCount = 20;

export interface NotifyQueueProps {
  /** Receives notices that failed on every receive. */
  readonly deadLetterQueue: DeadLetterQueue;
  readonly removalPolicy: RemovalPolicy;
}

/** Receives notices: webhooks, channels and events are told of tasks from here. */
export class NotifyQueue extends PipelineQueue {
  constructor(scope: Construct, id: string, props: NotifyQueueProps) {
    super(scope, id, {
      retentionPeriod: Duration.days(7),
      visibilityTimeout: visibilityFor(notifyTimeout),
      deadLetterQueue: { queue: props.deadLetterQueue, maxReceiveCount: notifyMaxReceiveCount },
      removalPolicy: props.removalPolicy,
    });
  }
}

export interface TierQueueProps {
  /** Receives messages that the tier gives up on. */
  readonly redriveQueue: RedriveQueue;
  readonly removalPolicy: RemovalPolicy;
  /** Time-out of the tier's worker. */
  readonly timeout: Duration;
  /** Batching window of the event source. */
  readonly batchWindow: Duration;
}

/** One tier's queue. */
export class TierQueue extends PipelineQueue {
  constructor(scope: Construct, id: string, props: TierQueueProps) {
    super(scope, id, {
      retentionPeriod: longestRetention,
      visibilityTimeout: visibilityFor(props.timeout, props.batchWindow),
      deadLetterQueue: { queue: props.redriveQueue, maxReceiveCount },
      // Naming the tier queues in the redrive queue's policy instead would create a circular dependency.
      redriveAllowPolicy: { redrivePermission: RedrivePermission.DENY_ALL },
      removalPolicy: props.removalPolicy,
    });
  }
}

/** Time for which SQS hides a message before its worker has renewed it: that of a lease at most. */
const containerVisibility = Duration.minutes(2);

export type ContainerQueueProps = Pick<TierQueueProps, "redriveQueue" | "removalPolicy">;

/**
 * A tier's queue of tasks that only container workers take. The workers renew the visibility of messages while attempts
 * run.
 */
export class ContainerQueue extends PipelineQueue {
  constructor(scope: Construct, id: string, props: ContainerQueueProps) {
    super(scope, id, {
      retentionPeriod: longestRetention,
      visibilityTimeout: containerVisibility,
      deadLetterQueue: { queue: props.redriveQueue, maxReceiveCount },
      redriveAllowPolicy: { redrivePermission: RedrivePermission.DENY_ALL },
      removalPolicy: props.removalPolicy,
    });
  }
}
