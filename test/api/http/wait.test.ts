import { describe, expect, test, vi } from "vitest";
import { preferredWait } from "../../../src/api/http/prefer.ts";
import type { Waits } from "../../../src/core/control/task-ends.ts";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import { MemoryWaits } from "../../../src/memory/waits.ts";
import { memoryPipeline } from "../../support/memory-pipeline.ts";
import { type Ask, appsOf, ask, gina, olga, problem, sam, served, sue } from "../../support/served.ts";

/** An app with a task, and its places for requests that wait. */
async function waitingApp(places = 10) {
  const pipeline = memoryPipeline();
  const waits = new MemoryWaits(places);
  const within: number[] = [];
  const callTime = {
    within: <T>(ms: number, work: () => Promise<T>) => {
      within.push(ms);
      return work();
    },
    apart: <T>(work: () => T) => work(),
  };
  const apps = appsOf({ ...pipeline.ports, waits, callTime });
  const submitted = async (as = olga) => {
    const json = { type: "echo", input: { value: 1 } };
    return String((await ask(apps.submit, "/tasks", { json, as })).json.task_id);
  };
  /** Starts a request. Its answer is there when the clock has advanced far enough. */
  const start = (path: string, more: Ask = {}) => {
    const open: { answer?: Awaited<ReturnType<typeof ask>>; afterMs?: number } = {};
    const startedMs = pipeline.clock.now();
    void ask(apps.status, path, more).then((answer) => {
      open.answer = answer;
      open.afterMs = pipeline.clock.now() - startedMs;
    });
    return open;
  };
  return { ...pipeline, ...apps, waits, within, submitted, start, task_id: await submitted() };
}

/** Lets a request come to its wait: wait.ts loads with the first one. */
const begun = async ({ clock }: { clock: { advance(ms: number): Promise<void> } }) => {
  await import("../../../src/api/http/wait.ts");
  for (let turn = 0; turn < 5; turn++) await clock.advance(0);
};

describe("GET /tasks/{task_id}?wait=", () => {
  test("the answer comes within half a second of the task's end", async () => {
    const app = await waitingApp();
    const open = app.start(`/tasks/${app.task_id}?wait=20`);
    await begun(app);
    await app.clock.advance(4_200);
    expect(open.answer).toBeUndefined();
    await app.drain();
    await app.clock.advance(500);
    expect(open.answer).toMatchObject({ status: 200, json: { status: "completed", result: 1 } });
    expect(open.answer?.headers.get("cache-control")).toBe("private, max-age=60");
    expect(open.answer?.headers.has("retry-after")).toBe(false);
    expect(open.afterMs).toBe(4_500);
  });

  test("the answer comes after the given seconds, with the task as it is then", async () => {
    const app = await waitingApp();
    const open = app.start(`/tasks/${app.task_id}?wait=2`);
    await begun(app);
    await app.clock.advance(1_400);
    await app.records.change({ tenant_id: "acme", task_id: app.task_id }, { when: {}, set: { progress: 7 } });
    await app.clock.advance(599);
    expect(open.answer).toBeUndefined();
    await app.clock.advance(1);
    expect(open.answer).toMatchObject({ status: 200, json: { status: "pending", progress: 7 } });
    expect(open.answer?.headers.get("retry-after")).toBe("1");
    expect(open.answer?.headers.get("cache-control")).toBe("no-store");
    expect(open.answer?.headers.has("preference-applied")).toBe(false);
  });

  test("a task that has ended is answered immediately, without a place", async () => {
    const app = await waitingApp(0);
    await app.drain();
    const answer = await ask(app.status, `/tasks/${app.task_id}?wait=20`);
    expect(answer.json.status).toBe("completed");
    const preferred = await ask(app.status, `/tasks/${app.task_id}`, { headers: { prefer: "wait=5" } });
    expect(preferred.headers.get("preference-applied")).toBe("wait=5");
  });

  test.each(["", "0", "21", "-1", "1.5", "05", "1e1", " 5", "+5", "five", "99999999999999999999", "5,6", "0x5", "５"])(
    "a wait of %j is refused",
    async (wait) => {
      const app = await waitingApp();
      const answer = await ask(app.status, `/tasks/${app.task_id}?wait=${encodeURIComponent(wait)}`);
      expect(answer).toMatchObject(problem(422, "invalid_input"));
      expect(answer.json.errors).toEqual([{ path: "/wait", message: "expected a whole number from 1 to 20" }]);
    },
  );

  test("the caller is checked before the query", async () => {
    const app = await waitingApp();
    expect((await ask(app.status, `/tasks/${app.task_id}?wait=x`, { as: {} })).status).toBe(401);
    expect((await ask(app.status, `/tasks/${app.task_id}?wait=x`, { as: sue })).status).toBe(404);
  });

  test.each([
    ["another tenant", gina],
    ["another submitter", sue],
  ])("%s cannot wait for a task, and is answered as for a task that does not exist", async (_, as) => {
    const app = await waitingApp();
    const task = await app.submitted(sam);
    const answer = await ask(app.status, `/tasks/${task}?wait=20`, { as });
    expect(answer).toMatchObject(problem(404, "not_found"));
    expect(app.waits.taken).toBe(0);
  });

  test("an ETag that still fits after the wait gives 304, and one that does not gives the task", async () => {
    const app = await waitingApp();
    const path = `/tasks/${app.task_id}`;
    const etag = (await ask(app.status, path)).headers.get("etag") ?? "";
    const same = app.start(`${path}?wait=1`, { headers: { "if-none-match": etag } });
    const other = app.start(`${path}?wait=20`, { headers: { "if-none-match": etag } });
    await begun(app);
    await app.clock.advance(1_000);
    expect(same.answer?.status).toBe(304);
    await app.drain();
    await app.clock.advance(500);
    expect(other.answer).toMatchObject({ status: 200, json: { status: "completed" } });
    expect(other.answer?.headers.get("etag")).not.toBe(etag);
  });

  test("a request that waits counts as one poll", async () => {
    const app = await waitingApp(40);
    const path = `/tasks/${app.task_id}?wait=3`;
    const open = Array.from({ length: 11 }, () => app.start(path));
    await begun(app);
    expect(open.map(({ answer }) => answer?.status).filter(Boolean)).toEqual([429]);
    await app.clock.advance(3_000);
    expect(open.filter(({ answer }) => answer?.status === 200)).toHaveLength(10);
  });

  test("a task that is deleted during the wait is answered as one that does not exist", async () => {
    const app = await waitingApp();
    const open = app.start(`/tasks/${app.task_id}?wait=20`);
    await begun(app);
    const purge_at = Math.floor(app.clock.now() / 1000);
    await app.records.change({ tenant_id: "acme", task_id: app.task_id }, { when: {}, set: { purge_at } });
    await app.clock.advance(500);
    expect(open.answer).toMatchObject(problem(404, "not_found"));
    expect(app.waits.taken).toBe(0);
  });

  test("HEAD waits, too", async () => {
    const app = await waitingApp();
    const open = app.start(`/tasks/${app.task_id}?wait=1`, { method: "HEAD" });
    await begun(app);
    expect(open.answer).toBeUndefined();
    await app.clock.advance(1_000);
    expect(open.answer).toMatchObject({ status: 200, text: "" });
  });

  test("other reads of a task do not wait", async () => {
    const app = await waitingApp();
    const headers = { prefer: "wait=20" };
    for (const path of ["result", "attempts", "children"]) {
      const answer = await ask(app.status, `/tasks/${app.task_id}/${path}?wait=20`, { headers });
      expect(answer.status).toBeLessThan(300);
      expect(answer.headers.has("preference-applied")).toBe(false);
    }
  });
});

describe("Prefer: wait", () => {
  test("the preference is confirmed, also when the time is over", async () => {
    const app = await waitingApp();
    const open = app.start(`/tasks/${app.task_id}`, { headers: { prefer: "respond-async, WAIT=2; x" } });
    await begun(app);
    await app.clock.advance(1_999);
    expect(open.answer).toBeUndefined();
    await app.clock.advance(1);
    expect(open.answer?.headers.get("preference-applied")).toBe("wait=2");
  });

  test("more than 20 seconds count as 20", async () => {
    const app = await waitingApp();
    const open = app.start(`/tasks/${app.task_id}`, { headers: { prefer: "wait=600" } });
    await begun(app);
    await app.clock.advance(19_999);
    expect(open.answer).toBeUndefined();
    await app.clock.advance(1);
    expect(open.answer?.headers.get("preference-applied")).toBe("wait=20");
  });

  test("a preference that cannot be used is ignored", async () => {
    const app = await waitingApp();
    for (const prefer of ["wait", "wait=soon", "return=minimal", "", "wait=0", "wait=-5", '"wait=5"', "wait=5 6"]) {
      const answer = await ask(app.status, `/tasks/${app.task_id}`, { headers: { prefer } });
      expect(answer.status, prefer).toBe(200);
      expect(answer.headers.has("preference-applied"), prefer).toBe(false);
    }
  });

  test("the query wins over the preference, which is not confirmed then", async () => {
    const app = await waitingApp();
    const open = app.start(`/tasks/${app.task_id}?wait=1`, { headers: { prefer: "wait=20" } });
    await begun(app);
    await app.clock.advance(1_000);
    expect(open.answer?.status).toBe(200);
    expect(open.answer?.headers.has("preference-applied")).toBe(false);
  });

  test.each<[string, number | undefined]>([
    ["wait=5", 5],
    ["WAIT = 5", 5],
    ['wait="5"', 5],
    ['a="x, wait=9", wait=5', 5],
    ['a="\\", wait=9", wait=5', 5],
    ["respond-async,wait=5;a=b;c", 5],
    ["wait=5, wait=6", 5],
    ["wait, wait=6", undefined],
    ["handling=lenient; wait=9", undefined],
    ["waiting=5", undefined],
    ["wait=5s", undefined],
    ["wait=5.5", undefined],
    ['wait="5', undefined],
    ['a="wait=9', undefined],
    [",,;=,wait=7,", 7],
    [`wait=${"9".repeat(400)}`, Number.POSITIVE_INFINITY],
    [`${'"\\'.repeat(4_000)}`, undefined],
    [`wait=${" ".repeat(8_000)}x`, undefined],
  ])("%j asks for %j seconds", (header, seconds) => {
    expect(preferredWait(header)).toBe(seconds);
  });
});

describe("places of requests that wait", () => {
  /** An app whose places are the given ones. */
  const withPlaces = (admit: Waits["admit"]) => {
    const app = served();
    return { ...app, ...appsOf({ ...app.ports, waits: { admit } }) };
  };

  test("a place is taken during the wait, and given back with the answer", async () => {
    const app = await waitingApp();
    const open = app.start(`/tasks/${app.task_id}?wait=2`);
    await begun(app);
    expect(app.waits.taken).toBe(1);
    await app.clock.advance(2_000);
    expect(open.answer?.status).toBe(200);
    expect(app.waits.taken).toBe(0);
  });

  test("without a place the answer comes immediately, and is that of a poll", async () => {
    const app = await waitingApp(0);
    for (const [path, headers] of [
      [`/tasks/${app.task_id}?wait=20`, {}],
      [`/tasks/${app.task_id}`, { prefer: "wait=20" }],
    ] as const) {
      const answer = await ask(app.status, path, { headers });
      expect(answer).toMatchObject({ status: 200, json: { status: "pending" } });
      expect(answer.headers.get("retry-after")).toBe("1");
      expect(answer.headers.has("preference-applied")).toBe(false);
    }
  });

  test("a tenant's requests take at most half of the places", async () => {
    const app = await waitingApp(4);
    const tasks = await Promise.all([1, 2, 3].map(() => app.submitted()));
    const theirs = await Promise.all([1, 2, 3].map(() => app.submitted(gina)));
    const open = tasks.map((task) => app.start(`/tasks/${task}?wait=5`));
    await begun(app);
    const others = theirs.map((task) => app.start(`/tasks/${task}?wait=5`, { as: gina }));
    await begun(app);
    for (const all of [open, others]) expect(all.filter(({ answer }) => answer === undefined)).toHaveLength(2);
    await app.clock.advance(5_000);
    expect([...open, ...others].every(({ answer }) => answer?.status === 200)).toBe(true);
    expect(app.waits.taken).toBe(0);
  });

  test("the place of an admin who names a tenant is that tenant's", async () => {
    const admit = vi.fn<Waits["admit"]>().mockResolvedValue(undefined);
    const app = withPlaces(admit);
    const { task_id } = await app.accepted({}, { as: gina });
    const ada = { tenant_id: "acme", principal: "ada", role: "admin" };
    await ask(app.status, `/tasks/${task_id}?wait=5&tenant=globex`, { as: ada });
    expect(admit.mock.calls).toEqual([["globex", app.clock.now()]]);
  });

  test.each([
    ["cannot answer", new PortUnavailable("the table")],
    ["has a fault", new Error("a mistake")],
  ])("when the table %s, the answer comes immediately", async (_, error) => {
    const app = withPlaces(() => Promise.reject(error));
    const { task_id } = await app.accepted();
    const answer = await ask(app.status, `/tasks/${task_id}?wait=20`);
    expect(answer).toMatchObject({ status: 200, json: { status: "pending" } });
    expect(app.log.lines.map(({ level, message }) => [level, message])).toContainEqual([
      "warn",
      "could not take a place for a request that waits; it is answered immediately",
    ]);
  });

  test("the place is given back when the answer fails, and the client gets the problem", async () => {
    const app = await waitingApp();
    const open = app.start(`/tasks/${app.task_id}?wait=1`);
    await begun(app);
    vi.spyOn(app.records, "getMany").mockRejectedValue(new PortUnavailable("the table"));
    await app.clock.advance(1_000);
    expect(open.answer).toMatchObject(problem(503, "unavailable"));
    expect(app.waits.taken).toBe(0);
  });

  test("the answer waits until the place is given back, and ignores that this fails", async () => {
    const released = Promise.withResolvers<void>();
    const app = withPlaces(async () => () => released.promise);
    const { task_id } = await app.accepted();
    let status = 0;
    void ask(app.status, `/tasks/${task_id}?wait=1`).then((answer) => {
      status = answer.status;
    });
    await begun(app);
    await app.clock.advance(1_500);
    expect(status).toBe(0);
    released.reject(new PortUnavailable("the table"));
    await app.clock.advance(0);
    expect(status).toBe(200);
    expect(app.log.lines.at(-1)?.message).toBe("could not give back the place of a request that waited");
  });

  test("taking a place and answering have time of their own", async () => {
    const app = await waitingApp();
    app.start(`/tasks/${app.task_id}?wait=1`);
    await begun(app);
    await app.clock.advance(1_000);
    expect(app.within.filter((ms) => ms === 2_500)).toHaveLength(1);
    expect(app.within.at(-1)).toBe(4_000);
  });
});
