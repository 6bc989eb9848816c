import { internalOptions } from "../task/internal-types.ts";
import { defineTask, type TaskType } from "../task/task.ts";
import type { OperationPorts } from "./run-operation.ts";

/** Loaded with the first of these tasks, as most workers never have one. */
const code = () => import("./run-operation.ts");

/**
 * Returns Offload's own task types, which every worker has in addition to the users'. An operation on 10,000 tasks at
 * one per second takes 14 of its 20 attempts: every accepted operation can finish, even after some crashes.
 */
export function operationTypes(ports: OperationPorts): TaskType[] {
  return [
    defineTask({
      ...internalOptions.replay,
      handler: async ({ per_second: perSecond }, task) => (await code()).operate(ports, task, "replay", { perSecond }),
    }),
    defineTask({
      ...internalOptions.discard,
      handler: async (_, task) => (await code()).operate(ports, task, "discard"),
    }),
    defineTask({
      ...internalOptions.cancel,
      handler: async ({ now }, task) => (await code()).operate(ports, task, "cancel", { now }),
    }),
    defineTask({
      ...internalOptions.retry,
      handler: async ({ per_second: perSecond }, task) => (await code()).operate(ports, task, "retry", { perSecond }),
    }),
    defineTask({
      ...internalOptions.run_now,
      handler: async ({ per_second: perSecond }, task) => (await code()).operate(ports, task, "run_now", { perSecond }),
    }),
    defineTask({
      ...internalOptions.redeliver,
      handler: async ({ per_second: perSecond }, task) =>
        (await code()).operate(ports, task, "redeliver", { perSecond }),
    }),
    defineTask({
      ...internalOptions.cancelChildren,
      handler: async (parent) => ({
        cancelled: await (await import("./cancel-others.ts")).cancelChildren(ports, parent),
      }),
    }),
    defineTask({ ...internalOptions.purgeBlobs, handler: async (_, task) => (await code()).purge(ports, task) }),
    defineTask({
      ...internalOptions.sweep,
      handler: async ({ tier }, task) => (await code()).sweepTier(ports, task, tier),
    }),
  ];
}
