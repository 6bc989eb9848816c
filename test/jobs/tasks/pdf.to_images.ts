import { defineTask, PermanentError } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";

export default defineTask({
  name: "pdf.to_images",
  input: z.strictObject({ documentId: z.string(), versionId: z.string(), version: z.int().optional() }),
  timeoutSeconds: 600,
  handler: async ({ documentId, versionId, version }, task) => {
    const found = await task.step("version", () =>
      call<{ url: string; pages: number | null } | null>("db/version", { versionId }),
    );
    if (found === null) throw new PermanentError("document not found");
    const { url } = found;
    const pages = found.pages ?? (await task.step("count", () => call<number>("pdf/count", { url })));
    if (pages < 1) throw new PermanentError("the document has no pages");
    for (let page = 1; page <= pages; page += 1) {
      await task.step(`page ${page}`, { maxAttempts: 3 }, async (key) => {
        await call("pdf/image", { versionId, page, url }, key).catch(async (error: Response) => {
          throw error.status === 400 ? new PermanentError(await error.text()) : error;
        });
      });
      task.progress((90 * page) / pages, { message: `${page} / ${pages} pages processed` });
    }
    await call("db/version/update", { versionId, pages, primary: true });
    if (version !== undefined) await call("db/version/others", { documentId, not: version });
    await call("site/revalidate", { documentId });
    return { pages };
  },
});
