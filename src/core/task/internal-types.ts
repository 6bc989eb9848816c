import * as z from "zod";
import { internalTypeNames } from "../model/internal-names.ts";
import { tiers } from "../model/words.ts";
import { type KnownType, knownTypesOf } from "./catalog.ts";
import { defineTask } from "./task.ts";

/** Time-out of one attempt, in seconds: the maximum of any type. */
export const internalTimeoutSeconds = 840;

/**
 * Common options of Offload's own types. Their tier is `high`: an operator waits for the result, and must not wait
 * behind the backlog of `normal` that often is the reason for the operation, nor use workers of `critical`. A long
 * operation continues in further attempts, so there are many attempts with short waits.
 */
const common = {
  priority: "high",
  timeoutSeconds: internalTimeoutSeconds,
  maxAttempts: 20,
  cancellable: false,
  retry: { waitsSeconds: [1], jitter: "none", kinds: { unavailable: { baseSeconds: 60, capSeconds: 900 } } },
} as const;

/** Offload's own task types, without their handlers. */
export const internalOptions = {
  replay: {
    ...common,
    name: internalTypeNames.replay,
    description: "Replays the dead letters of an operation.",
    input: z.strictObject({ per_second: z.int().min(1).max(100).optional() }),
  },
  discard: {
    ...common,
    name: internalTypeNames.discard,
    description: "Discards the dead letters of an operation.",
    input: z.strictObject({}),
  },
  cancel: {
    ...common,
    name: internalTypeNames.cancel,
    description: "Cancels the tasks of an operation.",
    input: z.strictObject({ now: z.boolean().optional() }),
  },
  retry: {
    ...common,
    name: internalTypeNames.retry,
    description: "Retries the failed tasks of an operation.",
    input: z.strictObject({ per_second: z.int().min(1).max(100).optional() }),
  },
  run_now: {
    ...common,
    name: internalTypeNames.run_now,
    description: "Makes the waiting tasks of an operation due now.",
    input: z.strictObject({ per_second: z.int().min(1).max(100).optional() }),
  },
  redeliver: {
    ...common,
    name: internalTypeNames.redeliver,
    description: "Delivers the webhooks of an operation again.",
    input: z.strictObject({ per_second: z.int().min(1).max(100).optional() }),
  },
  sweep: {
    ...common,
    name: internalTypeNames.sweep,
    description: "Deletes messages from a tier's DLQ whose tasks are no longer dead letters.",
    input: z.strictObject({ tier: z.enum(tiers) }),
  },
  cancelChildren: {
    ...common,
    name: internalTypeNames.cancelChildren,
    description: "Cancels the open children of a cancelled task.",
    input: z.strictObject({ tenant_id: z.string(), task_id: z.string(), now: z.boolean().optional() }),
  },
  purgeBlobs: {
    ...common,
    name: internalTypeNames.purgeBlobs,
    description: "Deletes files, large inputs and large results that are no longer needed.",
    input: z.strictObject({}),
  },
} as const;

/** Offload's own types, for submits by Offload itself. Clients cannot submit them. */
export const internalTypes: ReadonlyMap<string, KnownType> = knownTypesOf(
  Object.values(internalOptions).map((options) =>
    defineTask({ ...options, handler: () => Promise.reject(new Error("only workers have this handler")) }),
  ),
);
