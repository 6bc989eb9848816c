import * as z from "zod";
import { chainTenants, type ReadOfTenant } from "../../core/control/all-tenants.ts";
import { startOperation } from "../../core/control/operation.ts";
import { fieldProblem } from "../../core/model/field-problem.ts";
import { deliveryStates } from "../../core/model/words.ts";
import { deliveriesOf, findReceiver, type LogPorts, type ReceiverPorts } from "../../core/notify/manage-receivers.ts";
import type { DispatchPorts } from "../../core/ports/steps.ts";
import type { Clock } from "../../core/ports/tasks.ts";
import type { Delivery, Receiver, ReceiverKey, Receivers } from "../../core/ports/webhooks.ts";
import type { TenantList } from "../../core/schedules/ports.ts";
import { isForAll } from "../acts/act.ts";
import { receiverIn, receiverView } from "../acts/receiver.ts";
import type { ReceiverDelivery } from "../acts/views.ts";
import { askedOf, bodyAs, shown } from "./act-handlers.ts";
import { type HandlersOf, identify } from "./api.ts";
import type { Call } from "./call.ts";
import { type Cursors, pageAnswer } from "./cursor.ts";
import { tryView } from "./deliveries.ts";
import { pageParameters, queryOf, timeParameter } from "./query.ts";

/** Query of `GET /webhooks`. */
export const receiverListSchema = z.object(pageParameters);

/** Query of `GET /webhooks/{webhook_id}/deliveries`. */
export const receiverDeliveryListSchema = z.object({
  ...pageParameters,
  status: z.enum(deliveryStates).optional(),
  after: timeParameter.optional(),
  before: timeParameter.optional(),
});

/** Body of a replay of a receiver's deliveries. */
export const replayDeliveriesSchema = z.strictObject({
  after: timeParameter.optional(),
  before: timeParameter.optional(),
  status: z.enum(["delivered", "failed"]).default("failed"),
  dry_run: z.boolean().default(false),
  per_second: z.int().min(1).max(100).optional().describe("The most webhooks a second. Default: no limit."),
});

/** The most deliveries of one replay. */
const mostReplayed = 10_000;

/** The most bytes of a delivery's body that a list shows. */
const shownBodyBytes = 64 * 1024;

export interface ReceiverReadPorts extends LogPorts {
  clock: Clock;
  receivers: Receivers;
  tenants: TenantList;
  cursors: Cursors;
}

/** Handlers that read receivers of webhooks. */
export const receiverReads = (ports: ReceiverReadPorts) =>
  ({
    listReceivers: async (call) => {
      const identity = identify(call, "viewer", "all");
      const { limit, cursor } = queryOf(call, receiverListSchema);
      const read = pageOfTenant(ports.receivers);
      const forAll = isForAll(identity);
      return pageAnswer(ports, call, { identity, list: "receivers", cursor }, async (from) => {
        const page = { limit, from };
        const { items, next } = await (forAll ? chainTenants(ports, read, page) : read(identity.tenantId, page));
        const views = items.map((one) => ({ ...receiverView(one), ...(forAll && { tenant_id: one.tenant_id }) }));
        return { items: { webhooks: views }, next };
      });
    },
    readReceiver: async (call) => shown(call, { json: receiverView(await findReceiver(ports, keyOf(call))) }),
    listReceiverDeliveries: async (call) => {
      const key = keyOf(call);
      const identity = identify(call, "viewer");
      const { limit, cursor, ...filters } = queryOf(call, receiverDeliveryListSchema);
      const { status, ...times } = filters;
      const list = { identity, list: "receiver-deliveries", filters: { ...filters, ...key }, cursor };
      return pageAnswer(ports, call, list, async (from) => {
        await findReceiver(ports, key);
        const { items, next } = await deliveriesOf(ports, key, { limit, from, ...times });
        const shown = items.filter(({ state }) => status === undefined || state === status);
        return { items: { deliveries: shown.map(deliveryView) }, next };
      });
    },
  }) satisfies Partial<HandlersOf<"status">>;

/** Pages of a tenant's receivers, oldest first. A tenant has at most 20, which are one read. */
const pageOfTenant =
  (receivers: Pick<Receivers, "list">): ReadOfTenant<Receiver> =>
  async (tenantId, { limit, from = "" }) => {
    const keyOf = ({ created_at, webhook_id }: Receiver) => `${created_at} ${webhook_id}`;
    const all = (await receivers.list(tenantId)).toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    const left = all.filter((one) => keyOf(one) > from);
    const items = left.slice(0, limit);
    const last = items.at(-1);
    return { items, next: left.length > items.length && last !== undefined ? keyOf(last) : undefined };
  };

/** The handler that delivers again. */
export const receiverReplays = (ports: ReplayPorts) =>
  ({
    replayDeliveries: async (call) => {
      const key = keyOf(call);
      const identity = identify(call, "operator");
      const { status, dry_run, per_second: perSecond, ...times } = await bodyAs(call, replayDeliveriesSchema);
      await findReceiver(ports, key);
      const matched = await matching(ports, key, status, times);
      if (dry_run) return call.unstored({ matched: matched.length });
      const operationId = await startOperation(ports, {
        action: "redeliver",
        matched: matched.map(({ task_id, id }) => [task_id, id] as const),
        ...{ tiers: [], missed: 0, perSecond, identity },
        correlationId: call.get("correlationId"),
        traceparent: call.get("traceparent"),
      });
      call.header("content-location", `/operations/${operationId}`);
      call.header("retry-after", "1");
      return call.unstored({ operation_id: operationId, matched: matched.length }, 202);
    },
  }) satisfies Partial<HandlersOf<"control">>;

type ReplayPorts = Pick<ReceiverPorts, "receivers"> & LogPorts & DispatchPorts;

/** @throws Problem `unauthenticated`, `forbidden`, `not_found` */
const keyOf = (call: Call): ReceiverKey => receiverIn(undefined, askedOf(call, { role: "viewer" }));

function deliveryView({ id, task_id, body, ...delivery }: Delivery): ReceiverDelivery {
  const { type: event } = JSON.parse(body) as { type: string };
  return {
    delivery_id: id,
    task_id: task_id === delivery.receiver_id ? null : task_id,
    type: delivery.type,
    event,
    url: delivery.url,
    status: delivery.state,
    created_at: delivery.created_at,
    next_try_at: delivery.next_try_at ?? null,
    body: Buffer.from(body).subarray(0, shownBodyBytes).toString("utf8"),
    tries: delivery.tries.map((one, index) => ({ ...tryView(one, index), answer: one.answer ?? null })),
  };
}

/** @throws Problem `invalid_input` when too many match */
async function matching(
  ports: LogPorts,
  key: ReceiverKey,
  status: Delivery["state"],
  times: { after?: string | undefined; before?: string | undefined },
): Promise<Delivery[]> {
  const found: Delivery[] = [];
  let from: string | undefined;
  do {
    const page = await deliveriesOf(ports, key, { limit: 100, from, ...times });
    found.push(...page.items.filter(({ state }) => state === status));
    if (found.length > mostReplayed) throw fieldProblem("after", tooMany);
    from = page.next;
  } while (from !== undefined);
  return found;
}

const tooMany = `more than ${mostReplayed} deliveries match; give a shorter range of time`;
