import { defineTask } from "offload";
import * as z from "zod";

export default defineTask({
  name: "report.daily",
  input: z.object({ sections: z.array(z.string()).optional() }),
  handler: () => ({ pages: 1 }),
});
