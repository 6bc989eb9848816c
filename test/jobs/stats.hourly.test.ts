import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import { world } from "./tasks/lib/world.ts";
import stats from "./tasks/stats.hourly.ts";

const begin = () =>
  world.begin({
    "db/counts": () => ({ users: 5, paid: 2, before: { users: 4, paid: 2 } }),
    "pay/transactions": ({ after }) =>
      after === "" ? { amounts: [100, 200], next: "n" } : { amounts: [300], next: null },
    "views/count": () => ({ views: 9, sources: [{ name: "search" }] }),
  });
const result = { users: 5, paid: 2, views: 9, revenue: 6, userDelta: 1, paidDelta: 0 };

test("the numbers of a day are right, wherever the worker dies", async () => {
  begin();
  await testKit([stats]).crashEverywhere(stats, {}, (outcome) => {
    expect(outcome).toMatchObject({ status: "completed", result });
    begin();
  });
});

test("a service that is down is a failure that is seen, and tried again", async () => {
  begin();
  world.refuse("views/count", [503]);
  expect(await testKit([stats]).run(stats, {})).toMatchObject({ result, attempts: [{ outcome: "retried" }, {}] });
});
