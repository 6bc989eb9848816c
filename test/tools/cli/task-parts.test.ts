import { describe, expect, test } from "vitest";
import { problem, programOf, StubApi } from "./stub-api.ts";

const { offload } = programOf({ tasks: () => import("../../../src/tools/cli/task-commands.ts") });

const step = {
  ...{ kind: "step", name: "charge \u001b[31mcard", order: 1, until: null, at: null, timed_out: false },
  ...{ attempt: null, result: { paid: true }, result_bytes: 13, error: null },
};
const failed = { ...step, kind: "try", name: "mail #1", result: null, result_bytes: null, error: "no \u001b[31mroute" };
const timedOut = { ...step, kind: "signal", name: "approved", order: null, timed_out: true, result: null };

describe("tasks steps", () => {
  test("is a table in the order of the calls, without escapes of its content", async () => {
    await using api = await StubApi.start(() => ({
      json: { steps: [step, { ...timedOut, result_bytes: null }, failed] },
    }));
    const { code, out } = await offload(api.url, ["tasks", "steps", "t-1"]);
    expect(code).toBe(0);
    expect(out).toMatch(/^1 +try +mail #1 +- +- +failed: no .*route$/m);
    expect(out).toMatch(/^CALL +KIND +NAME +UNTIL +BYTES +RESULT\n1 +step +charge .*card +- +13 +\{"paid":true\}\n/);
    expect(out).toMatch(/^- +signal +approved +timed out +- +-$/m);
    expect(out).not.toContain("\u001b");
    expect(api.seen).toMatchObject([{ method: "GET", path: "/tasks/t-1/steps" }]);
  });

  test("prints JSON, and says when there are none", async () => {
    await using api = await StubApi.start(() => ({ json: { steps: [step] } }));
    expect(JSON.parse((await offload(api.url, ["tasks", "steps", "t-1", "--json"])).out)).toEqual({ steps: [step] });
    await using none = await StubApi.start(() => ({ json: { steps: [] } }));
    expect(await offload(none.url, ["tasks", "steps", "t-1"])).toMatchObject({
      code: 0,
      out: "No steps are stored.\n",
    });
  });
});

describe("tasks input", () => {
  test("prints the input alone, as JSON for a pipe", async () => {
    await using api = await StubApi.start(() => ({ json: { input: { to: "ada@example.com" } } }));
    const { code, out } = await offload(api.url, ["tasks", "input", "t-1"]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({ to: "ada@example.com" });
    expect(api.seen).toMatchObject([{ method: "GET", path: "/tasks/t-1/input" }]);
  });

  test("fails with the API's words when it is not kept", async () => {
    await using api = await StubApi.start(() => problem(410, "gone", "The task's input cannot be read."));
    const { code, out, notes } = await offload(api.url, ["tasks", "input", "t-1"]);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(notes).toContain("The task's input cannot be read.");
  });
});

describe("tasks children", () => {
  test("is a table of tasks, by status", async () => {
    const child = { task_id: "c-1", type: "mail.send", status: "failed", tags: {}, priority: "low", attempts: 3 };
    await using api = await StubApi.start(() => ({ json: { tasks: [child], next_cursor: null } }));
    const { code, out } = await offload(api.url, ["tasks", "children", "t-1", "--status", "failed"]);
    expect(code).toBe(0);
    expect(out).toMatch(/c-1 .*mail\.send/);
    expect(api.seen).toMatchObject([{ path: "/tasks/t-1/children", query: { status: "failed", limit: "100" } }]);
    await using none = await StubApi.start(() => ({ json: { tasks: [], next_cursor: null } }));
    expect((await offload(none.url, ["tasks", "children", "t-1"])).out).toBe("No children.\n");
  });
});
