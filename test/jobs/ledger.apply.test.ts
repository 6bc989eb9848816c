import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import apply from "./tasks/ledger.apply.ts";
import { world } from "./tasks/lib/world.ts";

test("an entry that fails is tried again alone, and those of its account keep their order", async () => {
  world.begin();
  world.refuse("ledger/apply", [500]);
  const kit = testKit([apply]);
  for (const entry of [1, 2, 3]) await kit.start(apply, { account: "a", entry });
  await kit.start(apply, { account: "b", entry: 1 });
  await kit.advance("1h");
  const entries = world.of("ledger/apply").map(({ account, entry }) => `${account}${entry}`);
  expect(entries.filter((entry) => entry.startsWith("a"))).toEqual(["a1", "a2", "a3"]);
  expect(entries[0]).toBe("b1");
});

test("an entry is applied once, wherever the worker dies", async () => {
  world.begin();
  await testKit([apply]).crashEverywhere(apply, { account: "a", entry: 1 }, ({ status }) => {
    expect([status, world.of("ledger/apply").length]).toEqual(["completed", 1]);
    world.begin();
  });
});
