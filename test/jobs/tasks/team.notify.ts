import { defineTask } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";

export default defineTask({
  name: "team.notify",
  input: z.strictObject({ teamId: z.string() }),
  handler: (input, task) => task.step("mail", (key) => call("mail/send", input, key)),
});
