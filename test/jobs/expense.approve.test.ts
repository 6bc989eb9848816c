import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import approve from "./tasks/expense.approve.ts";
import { world } from "./tasks/lib/world.ts";

const run = async (name?: string) => {
  world.begin();
  const signals = name === undefined ? [] : [{ name, body: { by: "ada" }, afterSeconds: 5 }];
  return (await testKit([approve]).run(approve, { expenseId: "x", timeoutSeconds: 100 }, { signals })).result;
};

test("an answer, or none, decides", async () => {
  expect(await run("reject")).toEqual({ status: "REJECTED" });
  expect(await run()).toEqual({ status: "TIMED_OUT" });
  expect(world.of("expenses/pay")).toEqual([]);
  expect(await run("approve")).toEqual({ status: "COMPLETED" });
});

test("what is approved is paid once, wherever the worker dies", async () => {
  world.begin();
  const signals = [{ name: "approve", body: {}, afterSeconds: 500 }];
  const check = ({ result }: { result: unknown }) => {
    expect([result, world.of("expenses/pay").length]).toEqual([{ status: "COMPLETED" }, 1]);
    world.begin();
  };
  await testKit([approve]).crashEverywhere(approve, { expenseId: "e", timeoutSeconds: 1_000 }, check, { signals });
});
