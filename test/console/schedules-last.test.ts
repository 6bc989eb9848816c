import { expect, test, vi } from "vitest";
import type { TaskView } from "../../src/core/model/task-view.ts";

// The session is read from a browser's storage.
vi.stubGlobal("sessionStorage", { getItem: () => null, removeItem: () => {} });
vi.stubGlobal("location", { hash: "", origin: "http://127.0.0.1" });
vi.stubGlobal("addEventListener", () => {});
const { lastRuns } = await import("../../console/src/pages/schedules-last.ts");

const task = (task_id: string, schedule_id: string | null) => ({ task_id, schedule_id }) as TaskView;

test("the runs of a schedule are its newest 14 tasks, without those of others", () => {
  const own = Array.from({ length: 20 }, (_, index) => task(`own-${index}`, "s-1"));
  const all = own.flatMap((one, index) => [one, task(`other-${index}`, index % 2 === 0 ? null : "s-2")]);
  expect(lastRuns(all, "s-1")).toEqual(own.slice(0, 14));
  expect(lastRuns(all, "s-3")).toEqual([]);
});
