import { currentTask } from "offload";
import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import { world } from "./tasks/lib/world.ts";
import triggers from "./tasks/triggers.ts";
import syncUsers from "./tasks/users.sync.ts";

const next: Record<string, string | null> = { "": "1", "1": "2", "2": null };
const pageOf = (page: unknown) => ({
  users: [{ id: `u${page}`, email: "a@b.co" }, { id: "bad" }],
  next: next[`${page}`],
});
/** A call that lasts until the task is cancelled. */
const cancelled = () =>
  new Promise((_, reject) => {
    const signal = currentTask()?.signal;
    signal?.addEventListener("abort", () => reject(signal.reason));
  });
type Answers = Parameters<typeof world.begin>[0];
const begin = (answers: Answers = {}) =>
  world.begin({ "db/organisation": () => ({ region: "eu" }), "wiki/users": ({ page }) => pageOf(page), ...answers });
const input = { organisation: "o", startedAt: "2027-01-01T00:00:00Z" };

test("each page is stored, wherever the worker dies", async () => {
  begin();
  await testKit([syncUsers]).crashEverywhere(syncUsers, input, ({ status }) => {
    expect([status, new Set(world.of("users/update").map(({ valid }) => JSON.stringify(valid))).size]).toEqual([
      "completed",
      3,
    ]);
    expect(world.of("wiki/users").length).toBeLessThanOrEqual(4);
    begin();
  });
});

test("an uninstall ends it in the middle of a page", async () => {
  begin({ "wiki/users": ({ page }) => (page === "1" ? cancelled() : pageOf(page)) });
  const faults = [{ step: "task.step(page 1)", how: "cancel" as const }];
  const { status } = await testKit([syncUsers]).run(syncUsers, input, { faults });
  expect([status, world.of("users/update").length, world.of("users/delete").length]).toEqual(["cancelled", 1, 0]);
  expect(triggers).toMatchObject([{ name: "users.reinstalled" }, {}]);
});
