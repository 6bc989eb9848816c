import { defineTask, PermanentError } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";

type Tier = { first: number; last: number | null; cents: string | null };
type Workspace = {
  customer: string | null;
  planChanged: string | null;
  plan?: { cents: string };
  activeKeys?: { tiers: Tier[] };
  verifications?: { tiers: Tier[] };
};

const quantityIn = ({ first, last }: Tier, usage: number) => Math.max(0, Math.min(usage, last ?? usage) - first + 1);

/** The part of the month in which the plan was in force. */
function shareOf(planChanged: string | null, year: number, month: number): number {
  const [start, end] = [Date.UTC(year, month - 1), Date.UTC(year, month)];
  const changed = planChanged === null ? 0 : Date.parse(planChanged);
  return changed >= start && changed < end ? (end - changed) / (end - start) : 1;
}

export default defineTask({
  name: "invoice.create",
  input: z.strictObject({ workspaceId: z.string(), year: z.int(), month: z.int().min(1).max(12) }),
  handler: async ({ workspaceId, year, month }, task) => {
    const workspace = await task.step("workspace", () => call<Workspace | null>("db/workspace", { workspaceId }));
    if (workspace === null) throw new PermanentError(`workspace ${workspaceId} not found`);
    const { customer, plan } = workspace;
    if (customer === null) throw new PermanentError(`workspace ${workspaceId} is no customer`);
    const [method] = await task.step("method", () => call<string[]>("pay/methods", { customer }));
    const period = `${year}-${month}`;
    const { id } = await task.step("invoice", (key) => call("pay/invoices", { customer, method, period }, key));
    const add = (name: string, quantity: number, cents: string) =>
      task.step(name, (key) => call("pay/items", { invoice: id, name, quantity, cents }, key));
    const share = shareOf(workspace.planChanged, year, month);
    if (plan) await add("Plan", 1, share === 1 ? plan.cents : (Number.parseInt(plan.cents, 10) * share).toFixed(2));
    for (const name of ["activeKeys", "verifications"] as const) {
      const { tiers } = workspace[name] ?? {};
      if (tiers === undefined) continue;
      const usage = await task.step(`usage of ${name}`, () =>
        call<number>("usage/count", { name, workspaceId, period }),
      );
      for (const tier of tiers) {
        const quantity = quantityIn(tier, usage);
        if (quantity > 0 && tier.cents !== null) await add(`${name} from ${tier.first}`, quantity, tier.cents);
      }
    }
    return { invoice: id };
  },
});
