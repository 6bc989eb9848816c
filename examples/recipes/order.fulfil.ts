import { defineTask, withOutcome } from "offload";
import * as z from "zod";

const shop = async (path: string, key: string): Promise<{ id: string }> => {
  const headers = { "idempotency-key": key };
  const response = await fetch(`${process.env.SHOP_URL}${path}`, { method: "POST", headers });
  if (!response.ok) throw response;
  return (await response.json()) as { id: string };
};

export default defineTask({
  name: "order.fulfil",
  description: "Reserves an order's goods, waits for its payment, ships it, and asks for a review a week later.",
  input: z.strictObject({ order: z.string().max(64) }),
  handler: async ({ order }, task) => {
    const reserved = await task.step("reserve", (key) => shop(`/orders/${order}/reservation`, key));
    const payment = await task.waitFor<{ paid: boolean }>("payment", { timeoutSeconds: 3 * 86_400 });
    if (payment?.paid !== true) {
      await task.step("release", (key) => shop(`/reservations/${reserved.id}/release`, key));
      return withOutcome("NOT_PAID", { shipment: null });
    }
    const shipped = await task.step("ship", (key) => shop(`/reservations/${reserved.id}/shipment`, key));
    await task.sleep(7 * 86_400);
    await task.step("ask for a review", (key) => shop(`/orders/${order}/review-mail`, key));
    return withOutcome("SHIPPED", { shipment: shipped.id });
  },
});
