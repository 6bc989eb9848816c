import { expect, test } from "vitest";
import { admin, operator } from "./callers.ts";
import { deployed } from "./command-line.ts";

/** An emulated account runs no containers. A deployment has them where OFFLOAD_CONTAINERS is 1. */
const hasContainers = !deployed || process.env.OFFLOAD_CONTAINERS === "1";

test.skipIf(!hasContainers)("a task of a container type completes, with progress and its result", async () => {
  const { task_id } = await operator.submit("probe.long", { ms: 500, steps: 5 });
  const done = await operator.ended(task_id, { timeoutMs: 240_000 });
  expect(done).toMatchObject({ status: "completed", attempts: 1, progress: 100 });
  expect((done.result as { slept_ms: number }).slept_ms).toBeGreaterThanOrEqual(490);
});

test("the list of task types names where each runs", async () => {
  const answer = await admin.get("/types");
  const { types } = answer.json<{ types: { name: string; runs_on: string }[] }>();
  const places = new Map(types.map(({ name, runs_on }) => [name, runs_on]));
  expect(places.get("probe.echo")).toBe("function");
  if (hasContainers) expect(places.get("probe.long")).toBe("container");
});
