import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import refreshFeature from "./tasks/feature.refresh.ts";
import updateFeatures from "./tasks/features.update.ts";
import { world } from "./tasks/lib/world.ts";

const due = ["a", "b"].map((featureId) => ({ featureId, organization: "o" }));
const kit = testKit([updateFeatures, refreshFeature]);
const begin = () => world.begin({ "db/features/due": () => due, "db/feature": () => ({ next: null }) });

test("each feature that is due is refreshed, wherever the worker dies", async () => {
  begin();
  await kit.crashEverywhere(updateFeatures, {}, ({ submitted }) => {
    expect(submitted).toMatchObject([{ outcome: { status: "completed" } }, { outcome: { status: "completed" } }]);
    expect(world.of("db/feature/next")).toMatchObject([{ featureId: "a" }, { featureId: "b" }]);
    begin();
  });
});

test("a feature whose refresh fails keeps its date, and has one task, however often it is found", async () => {
  begin();
  world.refuse("cache/refresh", [500, 500, 500]);
  const first = await kit.start(updateFeatures, {});
  await kit.start(updateFeatures, {});
  expect(world.of("db/feature/next")).toEqual([]);
  await kit.advance("1h");
  expect(world.of("db/feature/next")).toHaveLength(2);
  expect((await first.outcome()).submitted.map(({ outcome }) => outcome?.status)).toEqual(["completed", "completed"]);
});
