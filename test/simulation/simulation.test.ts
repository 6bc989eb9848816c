import { expect, test } from "vitest";
import { faultsOf, seeds } from "./seeds.ts";
import { simulate } from "./simulate.ts";

test("the promises hold in a hundred worlds under crashes, failures, repeats and delays", async () => {
  for (const seed of seeds(1, 100)) expect(await faultsOf(seed)).toEqual([]);
});

test("one idempotency key has one task in worlds of submits that share unique keys", async () => {
  for (const seed of seeds(1, 30)) expect(await faultsOf(seed, "unique")).toEqual([]);
});

test("each receiver of webhooks is told of the ends that it asks for, and of no others", async () => {
  for (const seed of seeds(1, 20)) expect(await faultsOf(seed, "receivers")).toEqual([]);
});

test("onFailed runs once a round, and no child or signal counts twice, in worlds of handlers that use everything", async () => {
  for (const seed of seeds(1, 20)) expect(await faultsOf(seed, "handlers")).toEqual([]);
});

test("a seed gives the same story every time", async () => {
  const [first, again, other] = [
    await simulate(7, { tell: true }),
    await simulate(7, { tell: true }),
    await simulate(8, { tell: true }),
  ];
  expect(again.story).toEqual(first.story);
  expect(other.story).not.toEqual(first.story);
});

test("the worlds are not empty: tasks run, attempts fail, and things go wrong", async () => {
  let text = "";
  for (const seed of seeds(1, 40)) text += (await simulate(seed, { tell: true })).story.join("\n");
  for (const sign of [
    "history+1:completed",
    "history+1:retried",
    "history+1:crashed",
    "history+1:timed_out",
    "✝",
    "✗ refused",
    "dead-letters",
    "stores step:",
    "stores sleep:",
    "stores wait:",
    "stores signal:",
    "stores the state",
    "waiting_for=",
  ]) {
    expect(text).toContain(sign);
  }
});
