import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import connectInbox from "./tasks/inbox.connect.ts";
import syncInbox from "./tasks/inbox.sync.ts";
import { world } from "./tasks/lib/world.ts";

test("an account gets one schedule and one sync, wherever the worker dies", async () => {
  world.begin();
  await testKit([connectInbox, syncInbox]).crashEverywhere(connectInbox, { accountId: "a" }, (outcome) => {
    expect(outcome).toMatchObject({
      status: "completed",
      submitted: [{ type: "inbox.sync", input: { manual: true } }],
    });
    expect(new Set(world.of("db/account").map(({ scheduleId }) => scheduleId)).size).toBe(1);
    expect(world.of("mail/sync")).toEqual([{ accountId: "a", manual: true }]);
    world.begin();
  });
});

test("an account that is connected twice, while the database is down, syncs every six hours", async () => {
  world.begin();
  world.refuse("db/account", [500]);
  const kit = testKit([connectInbox, syncInbox], { startsAt: new Date("2027-01-01T00:00:00Z") });
  await kit.run(connectInbox, { accountId: "a" });
  await kit.run(connectInbox, { accountId: "a" });
  expect(await kit.schedules()).toMatchObject([{ name: "inbox-a", cron: "37 */6 * * *" }]);
  await kit.advance("1d");
  expect(world.of("mail/sync").filter(({ manual }) => manual === false)).toHaveLength(4);
});
