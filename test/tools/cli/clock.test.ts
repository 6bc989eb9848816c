import { expect, test } from "vitest";
import { type Answer, problem, programOf, type Seen, StubApi } from "./stub-api.ts";

const { bare, offload } = programOf({ clock: () => import("../../../src/tools/cli/clock-commands.ts") });

const stands = { now: "2027-03-28T01:00:00.000Z", ahead_seconds: 172_800, moving: null };
const moved = {
  ...stands,
  ...{ arrived: true, did: { schedule_firings: 96 }, summary: "2 days: 96 schedule firings, 14 retries, 3 expired" },
};

/** A local server whose clock was moved. */
const clock = ({ method }: Seen): Answer => ({ json: method === "GET" ? stands : moved });

test("without a time it says the server's, and how far that is ahead", async () => {
  await using api = await StubApi.start(clock);
  expect(await offload(api.url, ["clock"])).toMatchObject({
    code: 0,
    out: "2027-03-28T01:00:00.000Z  2 d ahead of the machine's\n",
  });
  expect(JSON.parse((await offload(api.url, ["clock", "--json"])).out)).toEqual(stands);
});

test.each([
  ["+2d", { advance_seconds: 172_800 }],
  ["+90m", { advance_seconds: 5_400 }],
  ["+1d 12h", { advance_seconds: 129_600 }],
  ["2027-03-28T00:59:50Z", { at: "2027-03-28T00:59:50.000Z" }],
  ["2027-03-28T02:59+02:00", { at: "2027-03-28T00:59:00.000Z" }],
  ["2027-03-28", { at: "2027-03-28T00:00:00.000Z" }],
  ["reset", { reset: true }],
])("clock %s sends one order, and prints what was done", async (time, order) => {
  await using api = await StubApi.start(clock);
  const { code, out } = await offload(api.url, ["clock", time]);
  expect(code).toBe(0);
  expect(api.seen.filter(({ method }) => method === "POST").map(({ path, body }) => ({ path, body }))).toEqual([
    { path: "/_local/clock", body: order },
  ]);
  expect(out).toContain(time === "reset" ? "the machine's time" : moved.summary);
});

test.each(["2d", "+2", "-2d", "yesterday", "2027-03-28T00:59:50", "2027-02-30"])(
  "clock %s is refused before anything is sent",
  async (time) => {
    await using api = await StubApi.start(clock);
    expect((await offload(api.url, ["clock", time])).code).not.toBe(0);
    expect(api.seen).toEqual([]);
  },
);

test.each([
  ["a retry", { status: "pending", next_attempt_at: stands.now }],
  ["a delay", { status: "scheduled", run_at: stands.now }],
  ["a sleep", { status: "pending", waiting_for: { kind: "sleep", until: stands.now } }],
])("--until a task moves to the end of %s", async (_, task) => {
  const none = { next_attempt_at: null, run_at: null, waiting_for: null };
  await using api = await StubApi.start((seen) =>
    seen.path === "/tasks/t1" ? { json: { ...none, ...task } } : clock(seen),
  );
  expect((await offload(api.url, ["clock", "--until", "t1"])).code).toBe(0);
  expect(api.seen.find(({ method }) => method === "POST")?.body).toEqual({
    // A queue's delay is in whole seconds.
    at: new Date(Date.parse(stands.now) + 1000).toISOString(),
  });
});

test("--until a task that waits for no time moves nothing", async () => {
  const task = { status: "completed", next_attempt_at: null, run_at: null, waiting_for: null };
  await using api = await StubApi.start(() => ({ json: task }));
  const { code, notes } = await offload(api.url, ["clock", "--until", "t1"]);
  expect({ code, notes }).toEqual({ code: 1, notes: expect.stringContaining("waits for no time: it is completed") });
  expect(api.seen).toHaveLength(1);
});

test("a refusal is one line, and a server that is not local has no such clock", async () => {
  await using refusing = await StubApi.start(() =>
    problem(409, "conflict", "The clock can only go back in an empty state."),
  );
  expect(await offload(refusing.url, ["clock", "reset"])).toMatchObject({
    code: 1,
    notes: expect.stringContaining("The clock can only go back in an empty state."),
  });
  await using deployed = await StubApi.start(() => problem(404, "not_found", "No such route."));
  expect(await offload(deployed.url, ["clock"])).toMatchObject({
    code: 1,
    notes: expect.stringContaining("no local server"),
  });
  const nobody = await bare(["clock", "--url", "http://127.0.0.1:9"]);
  expect(nobody).toMatchObject({ code: 1, notes: expect.stringContaining("nothing listens") });
});
