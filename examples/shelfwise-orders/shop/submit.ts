import { type Client, createClient, type TaskEntry } from "offload/client";
import type * as tasks from "../tasks/index.ts";
import { type Order, onceKey } from "./order.ts";
import type { Shop } from "./shops.ts";
import type { TaskIds } from "./store.ts";

export type Offload = Client<typeof tasks>;

/** A client for one shop. Its key is the shop's, so its tasks can only be those of the shop's tenant. */
export const clientOf = (shop: Shop, url: string): Offload => createClient<typeof tasks>({ url, key: shop.key });

/** The five tasks of an order. Their keys follow from the order: submitting them again makes no second task. */
function tasksOf({ tenant, name, email, webhookUrl }: Shop, order: Order): TaskEntry<typeof tasks>[] {
  const once = (action: string) => ({
    idempotencyKey: onceKey(action, "order", tenant, order.id),
    tags: { order: order.id },
  });
  return [
    { type: "order.confirm", input: { order, shop: { name, email } }, ...once("confirm") },
    { type: "order.stock", input: { order }, ...once("stock") },
    { type: "order.webhook", input: { url: webhookUrl, order }, ...once("webhook") },
    { type: "order.invoice", input: { order, shop: { name, email } }, ...once("invoice") },
    { type: "order.trending", input: { order }, ...once("trending") },
  ];
}

/**
 * Submits the five tasks of an order in one request, and returns their ids. Safe to repeat.
 * @throws ProblemError of the first task that was refused; ConnectionError or CallTimeout when Offload does not answer
 */
export async function submitTasks(offload: Offload, shop: Shop, order: Order): Promise<TaskIds> {
  const entries = tasksOf(shop, order);
  const outcomes = await offload.submitBatch(entries, { timeoutMs: 10_000 });
  const ids = entries.map(({ type }, index): [string, string] => {
    const { task, error } = outcomes[index] ?? {};
    // The task exists, from a time when the shop had another name or URL.
    if (error?.code === "idempotency_key_reused") return [type, "submitted before"];
    if (task === undefined) throw error;
    return [type, task.task_id];
  });
  return Object.fromEntries(ids);
}
