import type { Order } from "./messages.ts";

/**
 * Receives the supervisor's orders, also those that come while this process still loads. When the supervisor has ended,
 * that is an order to stop.
 * @param drainSeconds Of that order.
 */
export function receiveOrders(drainSeconds: number): { listen(listener: (order: Order) => void): void } {
  const early: Order[] = [];
  let hear = (order: Order): void => void early.push(order);
  process.on("message", (order: Order) => hear(order));
  process.on("disconnect", () => hear({ kind: "stop", drainSeconds }));
  return {
    listen(listener) {
      hear = listener;
      for (const order of early) listener(order);
    },
  };
}

export type Orders = ReturnType<typeof receiveOrders>;
