import { defineTask } from "offload";
import * as z from "zod";

export default defineTask({
  name: "probe.collect",
  description: "Returns the values that it has collected, at most ten.",
  input: z.strictObject({ value: z.int() }),
  timeoutSeconds: 30,
  collect: { maxItems: 10, waitSeconds: 2 },
  handler: (inputs) => ({ values: inputs.map(({ value }) => value) }),
});
