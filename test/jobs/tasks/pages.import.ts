import { defineTask } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";
import importSome from "./pages.import_some.ts";

export default defineTask({
  name: "pages.import",
  input: z.strictObject({ importId: z.string(), roots: z.array(z.string()).max(3) }),
  onFailed: ({ importId }) => call("db/import", { importId, state: "errored" }),
  handler: async ({ importId, roots }, task) => {
    await task.run(importSome, { importId, pages: roots });
    await call("db/import", { importId, state: "processed" });
  },
});
