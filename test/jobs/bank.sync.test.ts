import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import syncBank from "./tasks/bank.sync.ts";
import syncAccount from "./tasks/bank.sync_account.ts";
import { world } from "./tasks/lib/world.ts";
import notify from "./tasks/team.notify.ts";

const begin = (accounts = ["a", "b", "c"]) =>
  world.begin({ "db/connection": () => ({ status: "connected", teamId: "t", accounts }) });
const kit = testKit([syncBank, syncAccount, notify]);
const input = { connectionId: "c", manual: false };

test("accounts are synced a minute apart, and the team hears of it after five minutes", async () => {
  begin();
  const outcome = await kit.run(syncBank, input);
  expect(outcome).toMatchObject({ result: { total: 3, completed: 3 }, seconds: 120 });
  expect(outcome.submitted).toMatchObject([{ type: "team.notify", outcome: { seconds: 300 } }]);
  expect(world.of("mail/send")).toHaveLength(1);
});

test("a bank of which no account can be read is disconnected", async () => {
  begin(["a", "b"]);
  world.refuse("bank/sync", [401, 500, 500, 500]);
  expect(await kit.run(syncBank, input)).toMatchObject({ status: "completed", result: { completed: 0 } });
  expect(world.of("db/disconnect")).toHaveLength(1);
});

test("wherever a worker dies, each account is synced and one mail is sent", async () => {
  begin(["a"]);
  await kit.crashEverywhere(syncBank, input, ({ status }) => {
    expect([status, world.of("mail/send").length]).toEqual(["completed", 1]);
    expect(world.of("bank/sync").length).toBeGreaterThan(0);
    begin(["a"]);
  });
});
