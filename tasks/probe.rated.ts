import { defineTask } from "offload";
import * as z from "zod";

export default defineTask({
  name: "probe.rated",
  description: "Returns when it began, at most five tasks of a key a second.",
  input: z.strictObject({ key: z.string().min(1).max(256) }),
  timeoutSeconds: 30,
  rateLimit: { key: ({ key }) => key, limit: 5, perSeconds: 1 },
  handler: () => ({ began: new Date().toISOString() }),
});
