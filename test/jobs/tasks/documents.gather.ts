import { defineTask } from "offload";
import indexDocuments, { Document } from "./documents.index.ts";

/** Each document is submitted with `unique: { key: workspace, mode: "collect" }`. */
export default defineTask({
  name: "documents.gather",
  input: Document,
  collect: { maxItems: 25, waitSeconds: 5 },
  handler: async (documents, task) => {
    const { workspace = "" } = documents[0] ?? {};
    await task.submit(indexDocuments, { workspace, documents });
  },
});
