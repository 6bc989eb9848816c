import { defineTask } from "offload";
import * as z from "zod";

export default defineTask({
  name: "speed.strict",
  description: "Does nothing.",
  input: z.strictObject({ key: z.string() }),
  concurrency: { key: ({ key }) => key, limit: 1, order: "strict" },
  handler: () => {},
});
