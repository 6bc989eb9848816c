import { defineTask } from "offload";
import type { Client } from "offload/client";
import * as z from "zod";
import { call } from "./lib/world.ts";

const sendEmail = defineTask({
  name: "email.send",
  input: z.strictObject({ emailId: z.string(), queue: z.string(), quota: z.int().min(1) }),
  concurrency: { key: ({ queue }) => queue, limit: ({ quota }) => quota, scope: "deployment" },
  handler: async ({ emailId }, task) => {
    const email = await call<{ to: string; subject: string } | null>("db/email", { emailId });
    if (email === null) return { sent: false };
    const { id } = await task.step("send", (key) => call("ses/send", email, key));
    await call("db/email/update", { emailId, id });
    return { sent: true };
  },
});
export default sendEmail;

type Tasks = { sendEmail: typeof sendEmail };
type Email = { emailId: string; region: string; marketing: boolean; delaySeconds?: number };

/** The service of the app: an email is one task, whose start can be moved, and which can be cancelled. */
export const emailQueue = (client: Client<Tasks>, quotaOf: (queue: string) => number) => ({
  add({ emailId, region, marketing, ...delay }: Email) {
    const queue = `${region}-${marketing ? "marketing" : "transaction"}`;
    const input = { emailId, queue, quota: quotaOf(queue) };
    return client.submit("email.send", input, { unique: { key: emailId }, ...delay });
  },
  changeDelay: (emailId: string, delaySeconds: number) =>
    client.reschedule(client.task({ type: "email.send", key: emailId }), { delaySeconds }),
  cancel: (emailId: string) => client.cancel(client.task({ type: "email.send", key: emailId })),
});
