import { defineTask } from "offload";
import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import * as z from "zod";
import { world } from "./tasks/lib/world.ts";
import digest from "./tasks/mail.digest.ts";

const users = [
  { email: "a@b.co", wants: ["fail"] },
  { email: "c@d.co", wants: [] },
];
const begin = () => world.begin({ "db/users": () => users });
const mail = (title: string, type: string) => ({ organisation: "o", type, title, text: `${title}!` });
const collector = defineTask({
  name: "mails.make",
  input: z.strictObject({}),
  handler: async (_, task) => {
    for (const [title, type] of [
      ["one", "fail"],
      ["two", "info"],
    ] as const) {
      await task.submit(digest, mail(title, type), { unique: { key: "o", mode: "collect" } });
    }
  },
});

test("an hour's mails are one mail for each user", async () => {
  begin();
  const { submitted } = await testKit([digest, collector]).run(collector, {});
  expect(submitted[0]?.outcome).toMatchObject({ status: "completed", seconds: 3_600 });
  expect(world.of("mail/send")).toEqual([
    { to: "a@b.co", subject: "Your latest notifications", text: "one!<br/>two!" },
    { to: "c@d.co", subject: "two", text: "two!" },
  ]);
});

test("a user whose mail fails twice gets it, and nobody gets two", async () => {
  begin();
  world.refuse("mail/send", [500, 500]);
  const { submitted } = await testKit([digest, collector]).run(collector, {});
  expect(submitted[0]?.outcome).toMatchObject({ attempts: { length: 1 }, seconds: 3_600 + 240 });
  expect(world.of("mail/send")).toHaveLength(2);
});
