import { defineTask, PermanentError } from "offload";
import * as z from "zod";
import syncAccount from "./bank.sync_account.ts";
import { call } from "./lib/world.ts";
import notify from "./team.notify.ts";

type Connection = { status: string; teamId: string; accounts: string[] } | null;

export default defineTask({
  name: "bank.sync",
  input: z.strictObject({ connectionId: z.string(), manual: z.boolean() }),
  maxAttempts: 2,
  timeoutSeconds: 120,
  children: { threshold: 0 },
  handler: async ({ connectionId, manual }, task) => {
    const connection = await task.step("look", () => call<Connection>("db/connection", { connectionId }));
    if (connection === null) throw new PermanentError("connection not found");
    if (connection.status === "disconnected") await call("db/disconnect", { connectionId });
    if (connection.status !== "connected") return;
    for (const [i, accountId] of connection.accounts.entries()) {
      await task.spawn(syncAccount, { accountId, manual }, { key: accountId, delaySeconds: i * (manual ? 30 : 60) });
    }
    if (!manual) await task.submit(notify, { teamId: connection.teamId }, { delaySeconds: 300 });
  },
  aggregate: async ({ total, completed, input: { connectionId } }) => {
    if (total > 0 && completed === 0) await call("db/disconnect", { connectionId });
    return { total, completed };
  },
});
