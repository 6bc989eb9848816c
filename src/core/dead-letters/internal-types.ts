import * as z from "zod";
import { type KnownType, knownTypesOf } from "../catalog.ts";
import { defineTask } from "../task.ts";
import { tiers } from "../tier.ts";
import { internalTypeNames } from "./operation-state.ts";

/** Time-out of one attempt, in seconds: the longest there is. */
export const internalTimeoutSeconds = 840;

/**
 * What Offload's own types have in common. Their tier is `high`: an operator waits for the answer, and must not wait behind
 * the backlog of `normal` that is often the reason for the operation, nor take a worker from `critical`. A long operation
 * goes on in a further attempt, so that attempts are many and the wait between them is short.
 */
const common = {
  priority: "high",
  timeoutSeconds: internalTimeoutSeconds,
  maxAttempts: 20,
  cancellable: false,
  retry: { waitsSeconds: [1], jitter: "none", kinds: { unavailable: { baseSeconds: 60, capSeconds: 900 } } },
} as const;

/** Offload's own task types, but for what they do. */
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
  sweep: {
    ...common,
    name: internalTypeNames.sweep,
    description: "Deletes what is no dead letter any more from a tier's DLQ.",
    input: z.strictObject({ tier: z.enum(tiers) }),
  },
} as const;

/** Offload's own types as submit sees them: never among the types that it takes from clients. */
export const internalTypes: ReadonlyMap<string, KnownType> = knownTypesOf(
  Object.values(internalOptions).map((options) =>
    defineTask({ ...options, handler: () => Promise.reject(new Error("only workers have the handlers")) }),
  ),
);
