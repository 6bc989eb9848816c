import { toEnv } from "../config.ts";
import { tiers } from "../core/tier.ts";
import { startEventSource, type Target } from "./event-source.ts";
import type { Functions } from "./functions.ts";
import { firingsQueue, queueName, redriveQueue } from "./resources.ts";
import type { QueueStore } from "./sqs/queue-store.ts";
import { WorkerPool } from "./worker-pool.ts";

/** Worker processes of one tier at most: about the share of a tier in a small AWS account. */
const maxWorkers = 8;

/** Longest wait for running batches when the server stops. */
const stopGraceMs = 2_500;

/**
 * Starts the functions that read queues. Workers run in processes of their own, as they run the user's handlers; redrive and
 * fire run in this process. Returns a function that stops them all.
 */
export function startConsumers(
  store: QueueStore,
  { redrive, fire }: Pick<Functions, "redrive" | "fire">,
  log: (line: string) => void,
): () => Promise<void> {
  store.releaseAll();
  const pools = tiers.map((tier) => {
    const pool = new WorkerPool({ env: toEnv({ tier }), maxProcesses: maxWorkers, onExit: log });
    pool.warm();
    const stop = startEventSource({ store, queue: queueName(tier), target: pool, onFailure: () => {} });
    return { pool, stop };
  });
  const startSource = (queue: string, invoke: Target["invoke"]) =>
    startEventSource({
      store,
      queue,
      target: { free: () => Promise.resolve(), invoke },
      onFailure: (error) => log(`Could not process a message of the queue ${queue}: ${String(error)}`),
    });
  const stopRedrive = startSource(redriveQueue, redrive);
  const stopFirings = startSource(firingsQueue, async (event) => {
    await fire(event);
    return { batchItemFailures: [] };
  });
  return async () => {
    const stopped = Promise.all([stopRedrive(), stopFirings(), ...pools.map(({ stop }) => stop())]);
    await Promise.race([stopped, new Promise((done) => setTimeout(done, stopGraceMs).unref())]);
    await Promise.all(pools.map(({ pool }) => pool.close()));
  };
}
