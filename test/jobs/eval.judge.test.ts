import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import judge from "./tasks/eval.judge.ts";
import { world } from "./tasks/lib/world.ts";

const startsAt = new Date("2027-01-01T00:00:00Z");
const input = { executionId: "e", submittedAt: startsAt.toISOString() };
const begin = () => world.begin({ "llm/judge": () => ({ score: 1 }) });
const run = () => testKit([judge], { startsAt }).run(judge, input);

test("forty refusals in a row use up no attempt", async () => {
  begin();
  world.refuse("llm/judge", Array(40).fill(429));
  const outcome = await run();
  expect(outcome).toMatchObject({ status: "completed", result: { score: 1 }, attempts: { length: 1 } });
  expect(outcome.seconds).toBeGreaterThanOrEqual(40 * 60);
});

test("after a day of refusals it gives up, and its row says so", async () => {
  begin();
  world.refuse("llm/judge", Array(1_500).fill(429));
  const outcome = await run();
  expect(outcome).toMatchObject({ status: "failed", errorKind: "permanent", attempts: { length: 1 } });
  expect(outcome.seconds).toBeGreaterThanOrEqual(86_400);
  expect(world.of("db/execution").at(-1)).toMatchObject({ status: "ERROR" });
});

test("an answer that cannot be used is final", async () => {
  begin();
  world.refuse("llm/judge", [500], "x is not valid JSON");
  expect(await run()).toMatchObject({ status: "failed", attempts: { length: 1 }, onFailed: { status: "completed" } });
});

test("a worker that dies in each attempt sets the row to ERROR, too", async () => {
  begin();
  const faults = [1, 2, 3, 4, 5].map((attempt) => ({ attempt, step: "claim", how: "crash" as const }));
  await testKit([judge], { startsAt }).run(judge, input, { faults });
  expect(world.of("db/execution")).toMatchObject([{ status: "ERROR" }]);
});
