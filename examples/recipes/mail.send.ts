import { defineTask, PermanentError } from "offload";
import * as z from "zod";

export default defineTask({
  name: "mail.send",
  description: "Sends a mail through a provider's HTTP API.",
  input: z.strictObject({ to: z.email(), subject: z.string().max(200), text: z.string().max(20_000) }),
  priority: "high",
  timeoutSeconds: 20,
  sensitive: true,
  handler: async ({ to, subject, text }, task) =>
    task.step("mail", async (idempotencyKey) => {
      const response = await fetch(new URL("/emails", process.env.MAIL_URL), {
        method: "POST",
        headers: {
          authorization: `Bearer ${process.env.MAIL_KEY}`,
          "content-type": "application/json",
          "idempotency-key": idempotencyKey,
        },
        body: JSON.stringify({ from: "shop@example.com", to, subject, text }),
        signal: task.signal,
      });
      if (response.status === 403) throw new PermanentError("the provider has blocked this recipient");
      if (!response.ok) throw response;
      const { id } = z.object({ id: z.string() }).parse(await response.json());
      return { id };
    }),
});
