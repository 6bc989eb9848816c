import { afterEach, expect, test, vi } from "vitest";
import type { TaskView } from "../../src/core/model/task-view.ts";

// What the console's modules read of their page when they are loaded.
vi.stubGlobal("location", { hash: "", origin: "http://console", pathname: "/console", search: "" });
vi.stubGlobal("sessionStorage", { getItem: () => null, setItem: () => {}, removeItem: () => {} });
vi.stubGlobal("addEventListener", () => {});
vi.stubGlobal("document", { hidden: false });

const { TaskList } = await import("../../console/src/task-list.ts");
const { api } = await import("../../console/src/session.ts");

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Tasks of one instant, newest id first, as a batch creates them. */
const batch = (count: number): TaskView[] =>
  Array.from({ length: count }, (_, index) => {
    const task_id = String(9_999 - index);
    return { task_id, type: "probe.echo", status: "pending", created_at: "2026-01-01T00:00:00.000Z" } as TaskView;
  });

/** The API's list of tasks, in pages of 100. */
const listOf = (tasks: () => readonly TaskView[]) =>
  vi.spyOn(api, "get").mockImplementation(async (_path, query) => {
    const from = Number(query?.cursor ?? 0);
    const page = tasks().slice(from, from + 100);
    return { tasks: page, next_cursor: from + 100 < tasks().length ? String(from + 100) : null } as never;
  });

const idsOf = (tasks: readonly TaskView[]) => tasks.map(({ task_id }) => task_id);

test("tasks of one instant on two pages stay in the list when its first page is read again", async () => {
  vi.useFakeTimers();
  const all = batch(150);
  const read = listOf(() => all);
  const list = new TaskList({});
  list.start();
  await vi.advanceTimersByTimeAsync(0);
  await list.more();
  expect(idsOf(list.tasks.value)).toEqual(idsOf(all));
  const reads = read.mock.calls.length;
  await vi.advanceTimersByTimeAsync(5_000);
  expect(read.mock.calls.length).toBeGreaterThan(reads);
  expect(idsOf(list.tasks.value)).toEqual(idsOf(all));
  list.stop();
});

test("a task that no longer matches leaves the list, and a new one comes to its top", async () => {
  vi.useFakeTimers();
  const known = batch(3);
  let now: readonly TaskView[] = known;
  listOf(() => now);
  const list = new TaskList({});
  list.start();
  await vi.advanceTimersByTimeAsync(0);
  const added = { ...known[0], task_id: "new", created_at: "2026-01-01T00:00:01.000Z" } as TaskView;
  now = [added, ...known.slice(1)];
  await vi.advanceTimersByTimeAsync(5_000);
  expect(idsOf(list.tasks.value)).toEqual(["new", ...idsOf(known.slice(1))]);
  list.stop();
});

test("tasks of Offload's own are counted and not listed, unless they are asked for", async () => {
  vi.useFakeTimers();
  const own = { ...batch(1)[0], task_id: "own", type: "offload.cancel" } as TaskView;
  listOf(() => [own, ...batch(2)]);
  for (const [showsOwn, listed, hidden] of [
    [false, 2, 1],
    [true, 3, 0],
  ] as const) {
    const list = new TaskList({}, showsOwn);
    list.start();
    await vi.advanceTimersByTimeAsync(0);
    expect([list.tasks.value.length, list.hidden.value.size]).toEqual([listed, hidden]);
    list.stop();
  }
});
