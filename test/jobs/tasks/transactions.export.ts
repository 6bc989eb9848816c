import { defineTask, file } from "offload";
import * as z from "zod";
import exportPage from "./export.page.ts";

const inHundreds = (ids: string[]) =>
  Array.from({ length: Math.ceil(ids.length / 100) }, (_, i) => ids.slice(i * 100, i * 100 + 100));

export default defineTask({
  name: "transactions.export",
  input: z.strictObject({ ids: z.array(z.string()).min(1), locale: z.string().default("en"), day: z.iso.date() }),
  timeoutSeconds: 300,
  concurrency: { limit: 10, scope: "deployment" },
  children: { threshold: 0 },
  handler: async ({ ids, locale }, task) => {
    await task.spawnAll(
      exportPage,
      inHundreds(ids).map((page) => ({ ids: page, locale })),
    );
  },
  aggregate: async ({ input, results }) => {
    const rows: string[] = [];
    for await (const page of results()) {
      if (page.file !== undefined)
        rows.push(
          ...Buffer.from(await page.file.read())
            .toString()
            .split("\n"),
        );
    }
    const csv = ["date,id", ...rows.sort().reverse()].join("\n");
    return file(Buffer.from(csv), { contentType: "text/csv", fileName: `export-${input.day}.csv` });
  },
});
