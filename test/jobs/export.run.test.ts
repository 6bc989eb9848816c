import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import runExport from "./tasks/export.run.ts";
import { world } from "./tasks/lib/world.ts";

test("exports run one at a time, and start five seconds apart", async () => {
  world.begin();
  const kit = testKit([runExport], { startsAt: new Date("2027-01-01T00:00:00Z") });
  const started = await Promise.all(["a", "b", "c"].map((exportId) => kit.start(runExport, { exportId })));
  await kit.advance("9s");
  expect(world.of("export/run")).toHaveLength(2);
  await kit.advance("1m");
  const outcomes = await Promise.all(started.map((task) => task.outcome()));
  expect(outcomes.map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
});

test("an export whose worker dies in each attempt is FAILED in the table", async () => {
  world.begin();
  const faults = [1, 2, 3, 4, 5].map((attempt) => ({ attempt, step: "claim", how: "crash" as const }));
  const outcome = await testKit([runExport]).run(runExport, { exportId: "a" }, { faults });
  expect(outcome).toMatchObject({ status: "failed", onFailed: { status: "completed" } });
  expect(world.of("db/export")).toMatchObject([{ exportId: "a", status: "FAILED" }]);
});
