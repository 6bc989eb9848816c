import { defineTask } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";

type Signer = {
  email: string;
  title: string;
  subject: string | null;
  distribution: "EMAIL" | "NONE";
  ownerDisabled: boolean;
  sentAt: string | null;
};

export default defineTask({
  name: "signer.remind",
  input: z.strictObject({ signerId: z.string() }),
  handler: async ({ signerId }, task) => {
    const now = task.now().toISOString();
    // The claim fails for whoever has signed, or whose time is over.
    const signer = await task.step("claim", (key) => call<Signer | null>("db/signer/claim", { signerId, now }, key));
    if (signer === null || signer.distribution === "NONE" || signer.ownerDisabled) return { sent: false };
    const subject = `Reminder: ${signer.subject ?? `please sign the document "${signer.title}"`}`;
    const allowed = await task.step("quota", (key) => call<boolean>("quota/take", { signerId }, key));
    if (allowed) {
      await task.step("mail", (key) => call("mail/send", { to: signer.email, subject }, key));
      await task.step("audit", (key) => call("db/audit", { signerId, type: "REMINDER" }, key));
      await task.step("webhook", (key) => call("webhook/send", { event: "REMINDER_SENT", signerId }, key));
    }
    if (signer.sentAt !== null) await call("db/signer/next", { signerId });
    return { sent: allowed };
  },
});
