import { defineTask } from "offload";
import * as z from "zod";

export default defineTask({
  name: "probe.echo",
  description: "Returns its value.",
  input: z.strictObject({ value: z.unknown() }),
  timeoutSeconds: 30,
  handler: ({ value }) => ({ value: value ?? null }),
});
