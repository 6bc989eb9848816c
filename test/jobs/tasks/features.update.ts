import { defineTask } from "offload";
import * as z from "zod";
import refreshFeature from "./feature.refresh.ts";
import { call } from "./lib/world.ts";

/** A schedule submits it each minute. */
export default defineTask({
  name: "features.update",
  input: z.strictObject({}),
  handler: async (_, task) => {
    const due = await call<{ featureId: string; organization: string }[]>("db/features/due", {});
    for (const feature of due) {
      const key = `${feature.organization}/${feature.featureId}`;
      await task.submit(refreshFeature, feature, { key, unique: { key } });
    }
  },
});
