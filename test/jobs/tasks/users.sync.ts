import { defineTask, PermanentError } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";

type Page = { users: { id: string; email?: string }[]; next: string | null };

/** Submitted with `unique: { key: organisation }`: triggers cancel it by this key. A first sync has the tier `high`. */
export default defineTask({
  name: "users.sync",
  input: z.strictObject({ organisation: z.string(), startedAt: z.iso.datetime() }),
  maxAttempts: 6,
  concurrency: { key: ({ organisation }) => organisation, limit: 1 },
  handler: async ({ organisation, startedAt }, task) => {
    const found = await task.step("organisation", () => call<object | null>("db/organisation", { organisation }));
    if (found === null) throw new PermanentError(`there is no organisation ${organisation}`);
    for (let page: string | null = ""; page !== null; ) {
      const { users, next }: Page = await task.step(`page ${page}`, () => call("wiki/users", { organisation, page }));
      const valid = users.filter(({ email }) => email !== undefined);
      if (valid.length > 0) await task.step(`store ${page}`, () => call("users/update", { organisation, valid }));
      page = next;
    }
    await task.step("finalize", () => call("users/delete", { organisation, syncedBefore: startedAt }));
    return { status: "completed" };
  },
});
