import { defineTask, RetryAfter } from "offload";
import * as z from "zod";

export default defineTask({
  name: "webhook.send",
  description: "Posts an event to a customer's URL.",
  input: z.strictObject({ url: z.url(), event: z.string().max(100), data: z.json() }),
  timeoutSeconds: 15,
  maxAttempts: 8,
  handler: async ({ url, event, data }, task) =>
    task.step("webhook", async (idempotencyKey) => {
      const response = await fetch(url, {
        method: "POST",
        headers: { ...task.traceHeaders(), "content-type": "application/json", "idempotency-key": idempotencyKey },
        body: JSON.stringify({ event, data }),
        redirect: "error",
        signal: task.signal,
      });
      if (response.status === 423) throw new RetryAfter(600, "the receiver is in maintenance");
      if (!response.ok) throw response;
      return { status: response.status };
    }),
});
