import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import { world } from "./tasks/lib/world.ts";
import gather from "./tasks/prices.gather.ts";

const input = { source: "s", symbol: "ACME", from: "2027-01-01", force: false };
const run = () => testKit([gather], { startsAt: new Date("2027-01-08T12:00:00Z") }).run(gather, input);

test("a day without a price has that of the day before, up to the last price", async () => {
  world.begin({ "prices/history": () => ({ "2027-01-02": 5, "2027-01-05": 6 }) });
  world.refuse("prices/history", [429]);
  expect(await run()).toMatchObject({ outcome: "GATHERED", result: { days: 4 }, attempts: { length: 2 } });
  const [{ days } = {}] = world.of("db/prices/upsert");
  expect(days).toMatchObject([{ day: "2027-01-02", price: 5 }, { price: 5 }, { price: 5 }, { price: 6 }]);
});

test("a symbol that is gone is inactive, and is not tried again", async () => {
  world.begin();
  world.refuse("prices/history", [410]);
  expect(await run()).toMatchObject({ outcome: "DELISTED", attempts: { length: 1 } });
  expect(world.of("db/symbol")).toMatchObject([{ symbol: "ACME", active: false }]);
});
