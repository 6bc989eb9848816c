import { expect, test } from "vitest";
import { actions } from "../../../src/core/control/act-on-task.ts";
import type { Delivery } from "../../../src/core/ports/webhooks.ts";
import { operationsPipeline } from "../../support/operations-pipeline.ts";

test.each([
  ["is gone", undefined],
  ["is disabled", false],
])("a delivery whose receiver %s is not sent again, and counts as failed", async (_, enabled) => {
  const { ports, accept } = operationsPipeline();
  const { tenant_id, task_id, type } = await accept({ type: "order.ship", input: { n: 1 } });
  const at = "2027-01-01T00:00:00.000Z";
  const about = { tenant_id, webhook_id: "receiver", url: "https://example.com/", events: [], types: null };
  if (enabled !== undefined) {
    await ports.receivers.put(
      {
        ...{ ...about, enabled, description: null, secret_version: 1, rotated_at: [], revision: 1 },
        ...{ created_by: "olga", created_at: at, updated_at: at },
      },
      0,
    );
  }
  const delivery: Delivery = {
    ...{ tenant_id, task_id, type, id: "msg_1", url: about.url, body: "{}", receiver_id: about.webhook_id },
    ...{ state: "failed", tries: [{ at, duration_ms: 1 }], series_from: 0, created_at: at, purge_at: 4_000_000_000 },
  };
  await ports.deliveries.put(delivery, -1);
  const matched = { key: { tenant_id, task_id }, entry: [task_id, delivery.id] as const };
  expect(await actions.redeliver(ports, matched, {} as never)).toBe("failed");
  expect(await ports.deliveries.get({ tenant_id, task_id }, delivery.id)).toEqual(delivery);
});
