import * as z from "zod";
import { mergeTenants, type ReadOfTenant } from "../../core/control/all-tenants.ts";
import { type Deliveries, type Delivery, failedKey, type Try } from "../../core/ports/webhooks.ts";
import type { TenantList } from "../../core/schedules/ports.ts";
import { isForAll } from "../acts/act.ts";
import type { FindTaskPorts } from "../acts/task-of-key.ts";
import type { FailedWebhook, WebhookTries, WebhookTry } from "../acts/views.ts";
import { type HandlersOf, identify } from "./api.ts";
import { type Cursors, pageAnswer } from "./cursor.ts";
import { findTask } from "./find-task.ts";
import { pageParameters, queryOf } from "./query.ts";

/** Query of `GET /deliveries`. */
export const deliveryListSchema = z.object({ ...pageParameters, status: z.literal("failed") });

export interface DeliveryReadPorts extends FindTaskPorts {
  cursors: Cursors;
  tenants: TenantList;
  deliveries: Deliveries;
}

/** Handlers that read deliveries of webhooks. */
export const deliveryReads = (ports: DeliveryReadPorts) =>
  ({
    listDeliveries: async (call) => {
      const record = await findTask(ports, call, identify(call));
      const deliveries = await ports.deliveries.ofTask(record);
      const newest = deliveries.at(-1);
      return call.unstored({
        state: newest?.state ?? null,
        next_try_at: newest?.next_try_at ?? null,
        deliveries: deliveries.flatMap(triesOf),
      } satisfies WebhookTries);
    },
    listFailedDeliveries: async (call) => {
      const identity = identify(call, "viewer", "all");
      const { limit, cursor } = queryOf(call, deliveryListSchema);
      const read: ReadOfTenant<Delivery> = (tenantId, one) => ports.deliveries.listFailed({ tenantId, ...one });
      const forAll = isForAll(identity);
      const list = { identity, list: "deliveries", filters: { status: "failed" }, cursor };
      return pageAnswer(ports, call, list, async (from) => {
        const { items, next } = forAll
          ? await mergeTenants(ports.tenants, { keyOf: failedKey, read }, { limit, from })
          : await read(identity.tenantId, { limit, from });
        const views = items.map((one) => ({ ...failedView(one), ...(forAll && { tenant_id: one.tenant_id }) }));
        return { items: { deliveries: views }, next };
      });
    },
  }) satisfies Partial<HandlersOf<"status">>;

/** The tries of a delivery as clients see them, oldest first. */
const triesOf = ({ id, tries }: Delivery): WebhookTry[] =>
  tries.map((one, index) => ({ webhook_id: id, ...tryView(one, index) }));

export const tryView = ({ at, duration_ms, status, error }: Try, index: number) => ({
  number: index + 1,
  at,
  status: status ?? null,
  error: error ?? null,
  duration_ms,
});

function failedView({ task_id, id, type, url, tries }: Delivery): FailedWebhook {
  const last = tries.at(-1);
  return {
    task_id,
    webhook_id: id,
    type,
    url,
    status: "failed",
    tries: tries.length,
    last_try_at: last?.at ?? null,
    last_status: last?.status ?? null,
    last_error: last?.error ?? null,
  };
}
