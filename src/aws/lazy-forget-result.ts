import type { TaskKey } from "../core/model/record.ts";
import type { DynamoTable } from "./dynamo-table.ts";

/**
 * Deletes a task's result from its webhooks. The code for this loads with the first such task: few have webhooks with
 * results.
 */
export const lazyForgetResult =
  (table: DynamoTable) =>
  async (key: TaskKey): Promise<void> => {
    const [{ forgetResult }, { DynamoDeliveries }] = await Promise.all([
      import("../core/notify/deliver.ts"),
      import("./deliveries-store.ts"),
    ]);
    await forgetResult(new DynamoDeliveries(table), key);
  };
