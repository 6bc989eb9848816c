import type { PurgePayload } from "./rule-input.ts";

/**
 * The rule that makes fire submit the task that deletes objects, once a day. Its name differs from those of tenants'
 * and apps' schedules.
 */
export const purgeRule = {
  name: "offload.purge-blobs",
  /** At 00:20 UTC, so that the day that has just ended has its entries. */
  expression: "cron(20 0 * * ? *)",
  timezone: "UTC",
  payload: { kind: "purge_blobs" } satisfies PurgePayload,
};
