import { defineTask } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";

export default defineTask({
  name: "documents.relate",
  input: z.strictObject({ workspace: z.string(), id: z.string() }),
  handler: (input) => call("graph/relate", input),
});
