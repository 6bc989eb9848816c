import { defineTask } from "offload";
import * as z from "zod";

export default defineTask({
  name: "speed.free",
  description: "Does nothing.",
  input: z.strictObject({ key: z.string() }),

  handler: () => {},
});
