import { defineTask, file } from "offload";
import * as z from "zod";
import { effect } from "./lib/effects.ts";

export default defineTask({
  name: "two.file",
  input: z.strictObject({}),
  files: { doc: { contentTypes: ["text/plain"], maxBytes: 5_000_000 } },
  handler: async (_, task) => {
    const bytes = await task.files.doc.bytes();
    effect(task, "run", { size: bytes.length });
    return file(bytes, { contentType: "text/plain", fileName: "back.txt" });
  },
});
