import { join } from "node:path";
import { expect, test } from "vitest";
import { wholeApp } from "../../src/code/describe/load-app.ts";

test("the jobs are one tasks folder: each file loads, with its schedules and triggers", async () => {
  const { catalog, schedules, triggers } = await wholeApp(join(import.meta.dirname, "tasks"), false);
  expect(catalog).toHaveLength(38);
  expect(schedules.map(({ name }) => name)).toEqual(["features.minute", "stats.each_hour"]);
  expect(triggers.map(({ name }) => name)).toEqual(["users.reinstalled", "ticket.replied"]);
});
