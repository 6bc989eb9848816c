import { describe, expect, test } from "vitest";
import { type Answer, problem, programOf, StubApi } from "./stub-api.ts";

const { offload } = programOf({ audit: () => import("../../../src/tools/cli/audit-commands.ts") });

const entry = (more: object = {}) => ({
  ...{ audit_id: "a1", at: "2027-01-01T22:00:00.000Z", actor: "olga", role: "operator", action: "cancelTask" },
  ...{ target: { task_id: "t-1" }, status: 200, request: null, correlation_id: "c" },
  ...more,
});

const answering = (entries: object[], next_cursor: string | null = null): Answer => ({
  json: { entries, next_cursor },
});

describe("audit", () => {
  test("is a table, newest first, with what was asked for and how it was answered", async () => {
    const paused = entry({ action: "pauseType", target: { type: "mail.send" }, request: { all: true }, status: null });
    await using api = await StubApi.start(() => answering([paused, entry()]));
    const { code, out } = await offload(api.url, ["audit"]);
    expect(code).toBe(0);
    const [headings, first, second] = out.split("\n");
    expect(headings).toMatch(/^AT +ACTOR +ACTION +WHAT +ANSWER$/);
    expect(first).toMatch(/^2027-01-01T22:00:00.000Z +olga +pauseType +mail.send \{"all":true\} +-$/);
    expect(second).toMatch(/ cancelTask +t-1 +200$/);
  });

  test("asks by filters", async () => {
    await using api = await StubApi.start(() => answering([]));
    const options = ["--actor", "olga", "--action", "keys create", "--task", "t-1", "--after", "2027-01-01"];
    const { out } = await offload(api.url, ["audit", ...options, "--before", "2027-01-02", "--deployment"]);
    expect(out).toBe("Nothing was changed.\n");
    expect(api.seen[0]?.query).toMatchObject({
      ...{ actor: "olga", action: "keys create", task_id: "t-1", scope: "deployment" },
      ...{ after: "2027-01-01", before: "2027-01-02" },
    });
  });

  test("says that there are more, and prints JSON", async () => {
    await using api = await StubApi.start(() => answering([entry()], "more"));
    const { out, notes } = await offload(api.url, ["audit", "--limit", "1", "--json"]);
    expect(JSON.parse(out)).toEqual({ entries: [entry()] });
    expect(notes).toContain("more than 1");
  });

  test("fails with the API's refusal", async () => {
    await using api = await StubApi.start(() => problem(403, "forbidden", "This request requires the role operator."));
    const { code, notes } = await offload(api.url, ["audit"]);
    expect([code, notes]).toEqual([1, expect.stringContaining("requires the role operator")]);
  });
});
