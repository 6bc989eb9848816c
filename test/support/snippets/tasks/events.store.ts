import { defineTask } from "offload";
import * as z from "zod";

export default defineTask({
  name: "events.store",
  input: z.object({ user: z.string(), event: z.string() }),
  collect: { maxItems: 500, waitSeconds: 10 },
  handler: (events) => ({ stored: events.length }),
});
