import { defineTask } from "offload";
import * as z from "zod";
import relate from "./documents.relate.ts";
import { call } from "./lib/world.ts";

type Known = { text: string; indexed: boolean } | null;

/** Each document is submitted with `unique: { key: workspace, mode: "collect" }`. */
export default defineTask({
  name: "documents.index",
  input: z.strictObject({ workspace: z.string(), id: z.string(), text: z.string(), related: z.boolean() }),
  collect: { maxItems: 25, waitSeconds: 5 },
  concurrency: { key: ({ workspace }) => workspace, limit: 5 },
  timeoutSeconds: 840,
  maxAttempts: 4,
  handler: async (documents, task) => {
    const looked = await Promise.all(
      documents.map(async (document) => ({ document, known: await call<Known>("db/document", { id: document.id }) })),
    );
    const changed = looked
      .filter(({ document, known }) => document.text !== "" && (known?.text !== document.text || !known.indexed))
      .map(({ document }) => document);
    if (changed.length > 0) {
      const vectors = await task.step("embed", () =>
        call<number[][]>("ai/embed", { texts: changed.map((d) => d.text) }),
      );
      const ids = changed.map(({ id }) => id);
      await task.step("upsert", (key) => call("vectors/upsert", { ids, vectors }, key));
      await call("db/documents", { ids });
    }
    for (const { workspace, id, related } of changed) {
      if (related) await task.submit(relate, { workspace, id }, { key: id });
    }
    return { processed: changed.length, skipped: documents.length - changed.length };
  },
});
