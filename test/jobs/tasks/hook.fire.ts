import { createHmac } from "node:crypto";
import { defineTask } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";

/** Submitted with `unique: { key: hookId, mode: "replace" }`: a change while it runs makes another task. */
export default defineTask({
  name: "hook.fire",
  input: z.strictObject({ hookId: z.string() }),
  maxAttempts: 3,
  retry: { waitsSeconds: [30, 300], jitter: "none" },
  classify: [(error) => (error instanceof Response ? "transient" : undefined)],
  handler: async ({ hookId }) => {
    const hook = await call<{ signingKey: string } | null>("db/hook", { hookId });
    if (hook === null) return;
    const body = JSON.stringify(await call("db/features", { hookId }));
    const signature = createHmac("sha256", hook.signingKey).update(body).digest("hex");
    try {
      await call("hook/post", { body, signature });
    } catch (error) {
      await call("db/hook/error", { hookId, error: error instanceof Response ? `status ${error.status}` : `${error}` });
      throw error;
    }
    await call("db/hook/error", { hookId, error: "" });
  },
});
