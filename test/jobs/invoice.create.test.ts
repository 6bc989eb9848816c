import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import createInvoice from "./tasks/invoice.create.ts";
import { world } from "./tasks/lib/world.ts";

const tiers = [
  { first: 1, last: 100, cents: null },
  { first: 101, last: 500, cents: "2" },
  { first: 501, last: null, cents: "1" },
];
const workspace = {
  customer: "c",
  planChanged: "2026-10-16T12:00:00Z",
  plan: { cents: "2500" },
  activeKeys: { tiers },
};
const begin = () =>
  world.begin({ "db/workspace": () => workspace, "pay/methods": () => ["m"], "usage/count": () => 620 });
const input = { workspaceId: "w", year: 2026, month: 10 };

test("an invoice has each item once, wherever the worker dies", async () => {
  begin();
  await testKit([createInvoice]).crashEverywhere(createInvoice, input, ({ status }) => {
    expect([status, world.of("pay/invoices").length]).toEqual(["completed", 1]);
    expect(world.of("pay/items").map(({ name, quantity, cents }) => [name, quantity, cents])).toEqual([
      ["Plan", 1, "1250.00"],
      ["activeKeys from 101", 400, "2"],
      ["activeKeys from 501", 120, "1"],
    ]);
    begin();
  });
});

test("a payment service that is down for a while makes no second invoice", async () => {
  begin();
  world.refuse("pay/items", [500, 503]);
  expect(await testKit([createInvoice]).run(createInvoice, input)).toMatchObject({ status: "completed" });
  expect([world.of("pay/invoices").length, world.of("pay/items").length]).toEqual([1, 3]);
});
