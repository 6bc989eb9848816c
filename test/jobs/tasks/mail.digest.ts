import { defineTask } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";

type User = { email: string; wants: string[] };

/** Each mail is submitted with `unique: { key: organisation, mode: "collect" }`. */
export default defineTask({
  name: "mail.digest",
  input: z.strictObject({ organisation: z.string(), type: z.string(), title: z.string(), text: z.string() }),
  collect: { maxItems: 1_000, waitSeconds: 3_600 },
  handler: async (mails, task) => {
    const organisation = mails[0]?.organisation;
    const users = await task.step("users", () => call<User[]>("db/users", { organisation }));
    const tries = { maxAttempts: 3, retry: { baseSeconds: 120, factor: 1 } };
    for (const { email, wants } of users) {
      const wanted = mails.filter(({ type }) => type === "info" || wants.includes(type));
      if (wanted.length === 0) continue;
      const subject = wanted.length === 1 ? wanted[0]?.title : "Your latest notifications";
      const text = wanted.map((mail) => mail.text).join("<br/>");
      await task.step(email, tries, (key) => call("mail/send", { to: email, subject, text }, key));
    }
  },
});
