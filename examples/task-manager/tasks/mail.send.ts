import { createTransport } from "nodemailer";
import { defineTask } from "offload";
import * as z from "zod";

/** SMTP codes from 500 are final, such as an unknown mailbox. Everything else is tried again. */
const isRefused = (error: unknown) => Number((error as { responseCode?: number } | null)?.responseCode) >= 500;

export default defineTask({
  name: "mail.send",
  description: "Sends a mail.",
  input: z.strictObject({ to: z.email(), subject: z.string().max(200), text: z.string().max(20_000) }),
  timeoutSeconds: 30,
  // With the default waits of up to two hours: half a day without a mail server loses no mail.
  maxAttempts: 11,
  sensitive: true,
  classify: [(error) => (isRefused(error) ? "permanent" : undefined)],
  handler: ({ to, subject, text }, task) =>
    task.step("mail", async (idempotencyKey) => {
      const url = process.env.SMTP_URL;
      const patience = { connectionTimeout: 5_000, greetingTimeout: 5_000, socketTimeout: 10_000 };
      // SMTP has no idempotency key. Every attempt has the same Message-ID, by which many mail servers drop a second copy.
      const messageId = `<${idempotencyKey}@task-manager.example>`;
      const from = { name: "Task manager", address: "hello@task-manager.example" };
      await createTransport({ url, ...patience }).sendMail({ from, to, subject, text, messageId });
      return { messageId };
    }),
});
