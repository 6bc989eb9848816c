import { defineTask } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";

export default defineTask({
  name: "feature.refresh",
  input: z.strictObject({ featureId: z.string(), organization: z.string() }),
  handler: async (input) => {
    const feature = await call<{ next: string | null } | null>("db/feature", input);
    if (feature === null) return;
    await call("cache/refresh", input);
    await call("db/feature/next", { ...input, next: feature.next });
  },
});
