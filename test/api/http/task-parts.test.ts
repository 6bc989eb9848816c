import { describe, expect, test } from "vitest";
import { PermanentError } from "../../../src/core/model/errors.ts";
import { entryKinds } from "../../../src/core/model/words.ts";
import { MemoryStepStore } from "../../../src/memory/steps.ts";
import { MemoryTaskLogs } from "../../../src/memory/task-logs.ts";
import { appsOf, ask, gina, problem, sam, served, sue } from "../../support/served.ts";
import { typeOf } from "../../support/task-types.ts";

describe("GET /tasks/{task_id}/input", () => {
  test("a waiting task's small input is kept, and shown to those who see the task", async () => {
    const apps = served();
    const { task_id } = await apps.accepted({ input: { value: "hello" }, delay_seconds: 60 }, { as: sam });
    for (const as of [sam, undefined]) {
      const answer = await ask(apps.control, `/tasks/${task_id}/input`, as === undefined ? {} : { as });
      expect(answer.json).toEqual({ input: { value: "hello" } });
      expect(answer.headers.get("cache-control")).toBe("no-store");
    }
    const unknown = await ask(apps.control, "/tasks/00000000-0000-7000-8000-000000000000/input", { as: sue });
    for (const as of [sue, gina]) {
      const { status, json } = await ask(apps.control, `/tasks/${task_id}/input`, { as });
      expect({ status, code: json.code, detail: json.detail }).toEqual({
        ...{ status: unknown.status, code: unknown.json.code, detail: unknown.json.detail },
      });
    }
  });

  test("one that is not kept is gone, in words", async () => {
    const apps = served();
    const { task_id } = await apps.accepted({ input: { value: "x".repeat(1_000) } });
    const answer = await ask(apps.control, `/tasks/${task_id}/input`);
    expect(answer).toMatchObject(problem(404, "input_not_kept"));
    expect(answer.json.detail).toMatch(/cannot be read/);
  });
});

describe("GET /tasks/{task_id}/input of a sensitive type", () => {
  const secret = () => served([typeOf(() => Promise.reject(new PermanentError("no")), { sensitive: true })]);

  test("is that of a dead letter, for operators", async () => {
    const apps = secret();
    const { task_id } = await apps.accepted({ input: { pin: "pin0815" } }, { as: sam });
    await apps.work();
    const letters = (await ask(apps.status, "/dead-letters")).json.dead_letters;
    expect(letters).toMatchObject([{ task_id, input: { pin: "pin0815" } }]);
    expect((await ask(apps.control, `/tasks/${task_id}/input`)).json).toEqual({ input: { pin: "pin0815" } });
    const own = await ask(apps.control, `/tasks/${task_id}/input`, { as: sam });
    expect(own).toMatchObject(problem(404, "input_not_kept"));
    expect(own.text).not.toContain("pin0815");
  });

  test("stays closed while the task waits, also in the bucket, and when the type is gone", async () => {
    const apps = secret();
    const inputs = [{ pin: "pin0815" }, { pin: "pin0815".repeat(46_000) }];
    for (const input of inputs) {
      const { task_id } = await apps.accepted({ input, delay_seconds: 86_400 });
      for (const { control } of [apps, appsOf({ ...apps.ports, types: new Map() })]) {
        const answer = await ask(control, `/tasks/${task_id}/input`);
        expect(answer).toMatchObject(problem(404, "input_not_kept"));
        expect(answer.text).not.toContain("pin0815");
        expect(answer.json.detail).toMatch(/sensitive/);
      }
    }
  });

  test("has steps without results", async () => {
    const apps = secret();
    const record = await apps.accepted();
    const steps = new MemoryStepStore();
    await steps.add(record, { kind: "step", name: "a", order: 1, value: '"pin0815"' }, 9e9);
    const answer = await ask(appsOf({ ...apps.ports, steps }).control, `/tasks/${record.task_id}/steps`);
    expect(answer.json.steps).toMatchObject([{ name: "a", result: null, result_bytes: 9 }]);
  });
});

describe("GET /tasks/{task_id}/steps", () => {
  test.each(entryKinds)("an entry of the kind %s is answered as documented", async (kind) => {
    const apps = served();
    const record = await apps.accepted();
    const steps = new MemoryStepStore();
    await steps.add(record, { kind, name: "a", order: 1 }, 9e9);
    const { json } = await ask(appsOf({ ...apps.ports, steps }).control, `/tasks/${record.task_id}/steps`);
    expect(json.steps).toMatchObject([{ kind, name: "a" }]);
  });

  test("entries are in the order of the handler's calls; a large result is left out", async () => {
    const apps = served();
    const record = await apps.accepted();
    const steps = new MemoryStepStore();
    const { control } = appsOf({ ...apps.ports, steps });
    await steps.add(record, { kind: "step", name: "b", order: 2, value: JSON.stringify("x".repeat(20_000)) }, 9e9);
    await steps.add(record, { kind: "step", name: "a", order: 1, value: '{"charged":true}' }, 9e9);
    await steps.add(record, { kind: "sleep", name: "nap", order: 3, until: "2027-01-01T00:00:00.000Z" }, 9e9);
    const { json } = await ask(control, `/tasks/${record.task_id}/steps`);
    const rest = { until: null, at: null, timed_out: false, attempt: null };
    expect(json.steps).toEqual([
      { ...rest, kind: "step", name: "a", order: 1, result: { charged: true }, result_bytes: 16, error: null },
      { ...rest, kind: "step", name: "b", order: 2, result: null, result_bytes: 20_002, error: null },
      {
        ...rest,
        kind: "sleep",
        name: "nap",
        order: 3,
        until: "2027-01-01T00:00:00.000Z",
        result: null,
        result_bytes: null,
        error: null,
      },
    ]);
  });

  test("a signal has the time at which it came, and a wait the time at which it ends", async () => {
    const apps = served();
    const record = await apps.accepted();
    const steps = new MemoryStepStore();
    const [at, until] = ["2027-01-01T00:00:01.000Z", "2027-01-02T00:00:00.000Z"];
    await steps.add(record, { kind: "wait", name: "approved", order: 1, until }, 9e9);
    await steps.add(record, { kind: "signal", name: "approved", value: "true", at }, 9e9);
    const { json } = await ask(appsOf({ ...apps.ports, steps }).control, `/tasks/${record.task_id}/steps`);
    expect(json.steps).toMatchObject([
      { kind: "wait", until, at: null },
      { kind: "signal", until: null, at, result: true },
    ]);
  });

  test("they are for operators", async () => {
    const apps = served();
    const { task_id } = await apps.accepted({}, { as: sam });
    expect(await ask(apps.control, `/tasks/${task_id}/steps`, { as: sam })).toMatchObject(problem(403, "forbidden"));
    expect((await ask(apps.control, `/tasks/${task_id}/steps`)).json).toEqual({ steps: [] });
  });

  test("another tenant's task is answered as an unknown one, and so are hostile ids", async () => {
    const apps = served();
    const { task_id } = await apps.accepted();
    const answers = [];
    for (const id of [task_id, "00000000-0000-7000-8000-000000000000", "..%2F..", "%00", "x".repeat(500)]) {
      const { status, json } = await ask(apps.control, `/tasks/${id}/steps`, { as: gina });
      answers.push({ status, code: json.code, detail: json.detail });
    }
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]).toMatchObject({ status: 404, code: "not_found" });
  });
});

describe("GET /tasks/{task_id}/logs", () => {
  test("operators read the lines, with a cursor as long as the log is not complete", async () => {
    const logs = new MemoryTaskLogs();
    const apps = served(undefined, { logs });
    const accepted = await apps.accepted({ input: { value: "hello" } }, { as: sam });
    const key = { tenant_id: "acme", task_id: String(accepted.task_id) };
    const line = {
      at: "2027-01-01T00:00:00.001Z",
      level: "info",
      message: "task submitted",
      attempt: null,
      fields: {},
    } as const;
    logs.add(key, "submit", line);
    await apps.clock.advance(1_000);
    const path = `/tasks/${key.task_id}/logs`;
    const answer = await ask(apps.status, path);
    expect(answer.json).toEqual({ lines: [line], next_cursor: expect.any(String), complete: false });
    const next = await ask(apps.status, `${path}?cursor=${answer.json.next_cursor}`);
    expect(next.json).toMatchObject({ lines: [], complete: false });
    await apps.work();
    await apps.clock.advance(60_000);
    expect((await ask(apps.status, path)).json).toEqual({ lines: [line], next_cursor: null, complete: true });
    expect(await ask(apps.status, path, { as: sam })).toMatchObject(problem(403, "forbidden"));
    expect(await ask(apps.status, path, { as: gina })).toMatchObject(problem(404, "not_found"));
    expect(await ask(apps.status, `${path}?limit=1001`)).toMatchObject(problem(422, "invalid_input"));
    expect(await ask(apps.status, `${path}?cursor=x`)).toMatchObject(problem(400, "malformed_request"));
  });
});
