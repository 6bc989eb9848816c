import { defineTask, PermanentError } from "offload";
import * as z from "zod";

/**
 * Fetches a page. The client of the API gets the answer by polling, or waits for it with the typed client.
 * A 5xx answer, a 429 or a broken connection is tried again later; a page that does not exist is a permanent failure.
 */
export default defineTask({
  name: "link.check",
  description: "Fetches a page, and returns its status and its title.",
  input: z.object({ url: z.url() }),
  timeoutSeconds: 30,
  handler: async ({ url }, task) => {
    const response = await fetch(url, { signal: task.signal });
    if (response.status === 404) throw new PermanentError(`${url} does not exist`);
    if (!response.ok) throw response;
    const title = /<title>([^<]*)<\/title>/i.exec(await response.text())?.[1] ?? null;
    task.log.info("checked a link", { status: response.status });
    return { status: response.status, title };
  },
});
