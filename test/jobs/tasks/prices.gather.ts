import { defineTask, withOutcome } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";

const dayMs = 86_400_000;

export default defineTask({
  name: "prices.gather",
  input: z.strictObject({ source: z.string(), symbol: z.string(), from: z.iso.date(), force: z.boolean() }),
  concurrency: { limit: 5, scope: "deployment" },
  handler: async ({ source, symbol, from, force }, task) => {
    const to = task.now().toISOString().slice(0, 10);
    let found: Record<string, number>;
    try {
      found = await call("prices/history", { source, symbol, from, to });
    } catch (error) {
      if (!(error instanceof Response && error.status === 410)) throw error;
      await call("db/symbol", { source, symbol, active: false });
      return withOutcome("DELISTED", null);
    }
    // A day without a price has that of the day before; behind the last price there is nothing to carry.
    const last = Object.keys(found).sort().at(-1) ?? "";
    const days: { day: string; price: number }[] = [];
    let price: number | undefined;
    for (let ms = Date.parse(from); ms < Date.parse(to); ms += dayMs) {
      const day = new Date(ms).toISOString().slice(0, 10);
      price = found[day] ?? price;
      if (price !== undefined && day <= last) days.push({ day, price });
    }
    await call(force ? "db/prices/replace" : "db/prices/upsert", { source, symbol, days });
    return withOutcome("GATHERED", { days: days.length });
  },
});
