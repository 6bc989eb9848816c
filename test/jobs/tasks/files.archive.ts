import { defineTask, PermanentError } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";

export default defineTask({
  name: "files.archive",
  input: z.strictObject({ email: z.email() }),
  handler: async ({ email }, task) => {
    const files = await task.step("files", () => call<string[]>("files/list", { email }));
    const approval = await task.waitFor("approval", { timeoutSeconds: 60 });
    if (approval === undefined) throw new PermanentError("nobody approved within a minute");
    const addresses = await task.step("addresses", () => call<string[]>("net/addresses", {}));
    await task.sleep(60);
    await task.step("write", { maxAttempts: 5, retry: { baseSeconds: 5 }, timeoutSeconds: 50 }, (key) =>
      call("files/write", { files, addresses }, key),
    );
  },
});
