import { setTimeout as sleep } from "node:timers/promises";
import { defineTask } from "offload";
import * as z from "zod";

export default defineTask({
  name: "two.tick",
  input: z.strictObject({ ms: z.int().default(0) }),
  handler: async ({ ms }, { signal }) => {
    await sleep(ms, undefined, { signal });
  },
});
