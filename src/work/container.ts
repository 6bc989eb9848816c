import type { TaskType } from "../core/task.ts";

/**
 * The program of a container: `node index.mjs` of the bundle `work` (`lib/esbuild.ts`). Its settings are those of the worker functions
 * except `OFFLOAD_TIER`, with `OFFLOAD_WORK_CONCURRENCY`, `OFFLOAD_WORK_DRAIN_SECONDS`, `OFFLOAD_WORK_TIERS`, `OFFLOAD_WORK_HEALTH_PORT`
 * and `OFFLOAD_WORK_MEMORY_MB`.
 * @param load Imports the task types.
 */
export async function startContainer(load: () => Promise<readonly TaskType[]>): Promise<void> {
  await load();
}
