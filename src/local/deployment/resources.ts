import { type Tier, tiers } from "../../core/model/words.ts";
import { maxReceiveCount } from "../../settings/config.ts";
import { accountId, region } from "../sqs/queue-message.ts";
import type { QueueSpec } from "../sqs/sqs.ts";

export const scheduleGroup = "offload";
export const redriveQueue = "offload-redrive";
export const firingsQueue = "offload-firings";
export const notifyQueue = "offload-notify";
const notifyDlq = "offload-notify-dlq";
/** Name of the local deployment, which is part of the source of its events. */
export const localDeployment = "local";
const redriveDlq = "offload-redrive-dlq";
export const schedulerDlq = "offload-scheduler-dlq";
export const queueName = (tier: Tier): string => `offload-${tier}`;
/** The tier's queue for container workers. */
export const containerQueueName = (tier: Tier): string => `offload-${tier}-container`;
export const dlqName = (tier: Tier): string => `offload-${tier}-dlq`;

/** ARN of a resource in the local server's account. */
export const localArn = (service: string, resource: string): string =>
  `arn:aws:${service}:${region}:${accountId}:${resource}`;

/**
 * Visibility timeout of a tier queue, until the worker hides the message for the attempt's lease, which is the worker's
 * first step. AWS requires six times the function's time-out. Here processes can die at any moment, and no throttling
 * delays a batch.
 */
const tierVisibilitySeconds = 30;

/** Receives after which a message of the redrive queue goes to that queue's DLQ. */
const redriveMaxReceiveCount = 20;

/** Receives after which a notice goes to the DLQ of the notify queue. */
const notifyMaxReceiveCount = 20;

/** Receives after which a message of the firings queue goes to the scheduler's DLQ. */
const firingMaxReceiveCount = 20;

const days = (count: number): number => count * 86_400;

/** The deployment's queues, with the settings that the service stack gives them. */
export const queueSpecs = (): QueueSpec[] => [
  ...tiers.flatMap((tier) => [
    ...[queueName(tier), containerQueueName(tier)].map((name) => ({
      name,
      visibilitySeconds: tierVisibilitySeconds,
      retentionSeconds: days(7),
      redrive: { target: redriveQueue, maxReceiveCount },
    })),
    { name: dlqName(tier), retentionSeconds: days(14) },
  ]),
  {
    name: redriveQueue,
    visibilitySeconds: 60,
    retentionSeconds: days(14),
    redrive: { target: redriveDlq, maxReceiveCount: redriveMaxReceiveCount },
  },
  { name: redriveDlq, retentionSeconds: days(14) },
  {
    name: firingsQueue,
    visibilitySeconds: 60,
    retentionSeconds: days(7),
    redrive: { target: schedulerDlq, maxReceiveCount: firingMaxReceiveCount },
  },
  { name: schedulerDlq, retentionSeconds: days(14) },
  {
    name: notifyQueue,
    visibilitySeconds: 30,
    retentionSeconds: days(7),
    redrive: { target: notifyDlq, maxReceiveCount: notifyMaxReceiveCount },
  },
  { name: notifyDlq, retentionSeconds: days(14) },
];
