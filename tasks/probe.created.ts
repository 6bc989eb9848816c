import { defineTask, withOutcome } from "offload";
import * as z from "zod";

export default defineTask({
  name: "probe.created",
  description: "Ends with the outcome CREATED and the given location.",
  input: z.strictObject({ location: z.string().max(2048) }),
  handler: ({ location }) => withOutcome("CREATED", { location }, { location }),
});
