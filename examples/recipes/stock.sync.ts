import { defineTask, RetryAfter } from "offload";
import * as z from "zod";

export default defineTask({
  name: "stock.sync",
  description: "Reads the stock of an article from an API that allows few calls.",
  input: z.strictObject({ article: z.string().regex(/^[A-Z0-9-]{1,32}$/) }),
  priority: "low",
  timeoutSeconds: 15,
  maxAttempts: 20,
  retry: { kinds: { rate_limited: { baseSeconds: 10, capSeconds: 900, jitter: "full" } } },
  handler: async ({ article }, task) => {
    const response = await fetch(new URL(`/stock/${article}`, process.env.STOCK_URL), { signal: task.signal });
    if (response.status === 403) {
      // This API says 403 for an exhausted quota, and names the time at which it is renewed.
      const resetsAt = Number(response.headers.get("x-ratelimit-reset"));
      throw new RetryAfter(resetsAt - Date.now() / 1000, "the quota of the stock API is used up");
    }
    if (!response.ok) throw response; // 429 waits for its Retry-After
    return z.object({ article: z.string(), pieces: z.int() }).parse(await response.json());
  },
});
