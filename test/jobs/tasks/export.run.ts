import { defineTask } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";

export default defineTask({
  name: "export.run",
  input: z.strictObject({ exportId: z.string() }),
  timeoutSeconds: 840,
  concurrency: { limit: 1, scope: "deployment" },
  rateLimit: { limit: 1, perSeconds: 5, scope: "deployment" },
  onFailed: ({ exportId }, { error }) => call("db/export", { exportId, status: "FAILED", log: error }),
  handler: (input) => call("export/run", input),
});
