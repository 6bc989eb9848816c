import { endId } from "../../src/core/model/idempotency.ts";
import { isInternal } from "../../src/core/model/internal-names.ts";
import type { TaskKey, TaskRecord } from "../../src/core/model/record.ts";
import { receiverDeliveryId } from "../../src/core/notify/receivers.ts";
import type { WebhookRequest } from "../../src/core/ports/notify.ts";
import type { Deliveries, Receiver, Receivers } from "../../src/core/ports/webhooks.ts";
import { MemoryReceivers } from "../../src/memory/receivers.ts";

const at = "2027-01-01T00:00:00.000Z";

const receiverOf = (tenant_id: string, number: number, more: Partial<Receiver> = {}): Receiver => ({
  ...{ tenant_id, webhook_id: `0f4e7a52-3c1d-4b5e-8a6f-11223344556${number}`, url: `https://r${number}.example/hook` },
  events: ["task.completed", "task.failed", "task.cancelled", "task.expired"],
  ...{ types: null, description: null, enabled: true, secret_version: 1, rotated_at: [], revision: 1 },
  ...{ created_by: "ann", created_at: at, updated_at: at, ...more },
});

/** The receivers of a world: both tenants have some, one hears of some ends only, and one is disabled. */
const receivers: readonly Receiver[] = [
  receiverOf("acme", 1),
  receiverOf("acme", 2, { events: ["task.failed", "task.expired"] }),
  receiverOf("acme", 3, { enabled: false }),
  receiverOf("globex", 4),
];

/** A table of receivers. */
export function receiverTable(hasSome: boolean): MemoryReceivers {
  const table = new MemoryReceivers();
  if (hasSome) for (const receiver of receivers) void table.put(receiver, 0);
  return table;
}

/** The deliveries of an end that a receiver must get, or must not get. */
interface Due {
  key: TaskKey;
  endId: string;
  receiver: Receiver;
  asks: boolean;
  accepted: number;
}

interface Fault {
  text: string;
  taskId: string;
}

/**
 * The laws of receivers: an end reaches each receiver that asks for it, or the delivery was given up; and it reaches no
 * other receiver.
 */
export class ReceiverLaws {
  readonly wrong: Fault[] = [];
  readonly #due = new Map<string, Due>();
  readonly #told = new Set<string>();
  readonly #excused = new Set<string>();
  readonly #hasSome: boolean;

  constructor(hasSome: boolean) {
    this.#hasSome = hasSome;
  }

  ended(record: TaskRecord): void {
    if (!this.#hasSome || isInternal(record)) return;
    const { tenant_id, task_id, status } = record;
    for (const receiver of receivers.filter((one) => one.tenant_id === tenant_id)) {
      const asks = receiver.enabled && receiver.events.some((event) => event === `task.${status}`);
      const due = { key: { tenant_id, task_id }, endId: endId(record), receiver, asks, accepted: 0 };
      this.#due.set(receiverDeliveryId(due.endId, receiver.webhook_id), due);
    }
  }

  /** The notify function has been told of an end. */
  told(id: string): void {
    this.#told.add(id);
  }

  /** Webhooks of this end are right: its task's record was lost, and its ids are others since. */
  excused(id: string): void {
    for (const { webhook_id } of receivers) this.#excused.add(receiverDeliveryId(id, webhook_id));
  }

  /** A webhook arrived. Returns false when its URL is none of a receiver's. */
  posted({ url, headers }: WebhookRequest, accepts: boolean): boolean {
    const receiver = receivers.find((one) => one.url === url);
    if (receiver === undefined) return false;
    const due = this.#due.get(headers["webhook-id"] ?? "");
    if (due === undefined && this.#excused.has(headers["webhook-id"] ?? "")) return true;
    const taskId = due?.key.task_id ?? "";
    if (due?.receiver !== receiver) this.wrong.push({ taskId, text: `${url} got a webhook of another receiver` });
    else if (!due.asks) this.wrong.push({ taskId, text: `${url} got a webhook that it did not ask for` });
    else if (accepts) due.accepted += 1;
    return true;
  }

  /** Laws at rest. Failures of five days disable a receiver: then it need not be told. */
  async broken(deliveries: Deliveries, table: Receivers): Promise<Fault[]> {
    const faults = [...this.#due].map(async ([id, due]) => {
      if (!this.#told.has(due.endId)) return [];
      const isEnabled = (await table.get(due.receiver))?.enabled === true;
      const text = faultOf(due, await deliveries.get(due.key, id), isEnabled);
      return text === undefined ? [] : [{ taskId: due.key.task_id, text: `${due.receiver.url}: ${text}` }];
    });
    return [...this.wrong, ...(await Promise.all(faults)).flat()];
  }
}

function faultOf(
  { asks, accepted }: Due,
  delivery: Awaited<ReturnType<Deliveries["get"]>>,
  isEnabled: boolean,
): string | undefined {
  if (!asks) return delivery && "it has a delivery that it did not ask for";
  if (delivery === undefined) return isEnabled ? "it was never told of an end" : undefined;
  const { state, tries } = delivery;
  if (state === "pending") return `its webhook waits forever, after ${tries.length} tries`;
  if (state === "delivered")
    return accepted > 0 ? undefined : "its webhook counts as delivered, and it did not accept it";
  const gaveUp = tries.length >= 8 || tries.at(-1)?.status === 410 || !isEnabled;
  return gaveUp ? undefined : `its webhook was given up after ${tries.length} tries`;
}
