import { defineTask, file } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";

export default defineTask({
  name: "export.page",
  input: z.strictObject({ ids: z.array(z.string()).max(100), locale: z.string() }),
  priority: "low",
  handler: async (input) => {
    const { rows } = await call<{ rows: string[] }>("db/transactions", input);
    return file(Buffer.from(rows.join("\n")), { contentType: "text/csv" });
  },
});
