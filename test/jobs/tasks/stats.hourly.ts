import { defineTask } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";

type Counts = { users: number; paid: number };
type Page = { amounts: number[]; next: string | null };

/** A schedule submits it each hour. */
export default defineTask({
  name: "stats.hourly",
  input: z.strictObject({}),
  handler: async (_, task) => {
    const day = task.now().toISOString().slice(0, 10);
    const { users, paid, before } = await call<Counts & { before?: Counts }>("db/counts", { day });
    let cents = 0;
    for (let after: string | null = ""; after !== null; ) {
      const page: Page = await call("pay/transactions", { after });
      cents += page.amounts.reduce((sum, amount) => sum + amount, 0);
      after = page.next;
    }
    const { views, sources } = await call<{ views: number; sources: object[] }>("views/count", { day });
    const changes = { userDelta: users - (before?.users ?? 0), paidDelta: paid - (before?.paid ?? 0) };
    const stats = { users, paid, views, revenue: cents / 100, ...changes };
    await call("db/stats", { day, ...stats });
    for (const source of sources) await call("db/source", { day, ...source });
    return stats;
  },
});
