import { describe, expect, test } from "vitest";
import { acts } from "../../../src/api/acts/task-acts.ts";
import { acts as tenantActs } from "../../../src/api/acts/tenant-acts.ts";
import { nothing } from "../../../src/api/http/act-handlers.ts";
import { discardSchema, replaySchema } from "../../../src/api/http/bulk.ts";
import { expecting, formOf } from "../../../src/core/model/expected.ts";
import { parseInput } from "../../../src/core/model/invalid.ts";
import { Problem } from "../../../src/core/model/problem.ts";
import { submitSchema } from "../../../src/core/pipeline/submit/submit-body.ts";
import { changeSchema, definitionSchema, previewSchema } from "../../../src/core/schedules/definition.ts";

const tenantLimitsSchema = tenantActs().changeTenantLimits.body ?? expect.fail();
const extendSchema = acts().extendTask.body ?? expect.fail();

describe("the short form of a body", () => {
  test.each([
    ["extend", extendSchema, "{ retention_seconds: 60..2592000 }"],
    ["retry", nothing, "{}"],
    ["discard", discardSchema, "{ task_ids?: array, filter?: object, dry_run?: boolean }"],
    ["replay", replaySchema, "{ task_ids?: array, filter?: object, dry_run?: boolean, per_second?: 1..100 }"],
    [
      "limits of a tenant",
      tenantLimitsSchema,
      "{ submits_per_second?: unset|0.001..100000, burst?: unset|1..1000000, tasks_in_progress?: unset|0..100000000, request_bytes?: unset|1..1048576, schedules?: unset|0..1000000, open_upload_bytes?: unset|0..1125899906842624 }",
    ],
  ])("%s", (_, schema, form) => {
    expect(formOf(schema)).toBe(form);
  });

  test("a submit and the bodies of schedules fit into a detail", () => {
    expect(formOf(submitSchema)).toMatch(
      /^\{ type: string, input\?: any JSON, priority\?: critical\|high\|normal\|low, delay_seconds\?: 0\.\.31536000, run_at\?: string, /,
    );
    expect(formOf(definitionSchema)).toMatch(
      /^\{ name: string, enabled\?: boolean, overlap\?: allow\|skip, alarm\?: boolean, task: object, cron\?: string, every_seconds\?: 60\.\.31536000, /,
    );
    for (const schema of [submitSchema, definitionSchema, changeSchema, previewSchema]) {
      expect(formOf(schema).length).toBeLessThan(400);
    }
  });
});

describe("a refused body", () => {
  const refused = async (body: unknown): Promise<Problem> => {
    const result: unknown = await expecting(extendSchema, () => parseInput(extendSchema, body)).catch((error) => error);
    expect(result).toBeInstanceOf(Problem);
    return result as Problem;
  };

  test.each([
    [{}, "retention_seconds: expected number, received undefined; expected { retention_seconds: 60..2592000 }"],
    [
      { retention_seconds: 60, seconds: 60 },
      "seconds: unknown field, got 60; expected { retention_seconds: 60..2592000 }",
    ],
  ])("a missing or unknown field: %j", async (body, detail) => {
    expect(await refused(body)).toMatchObject({ code: "invalid_input", detail });
  });

  test("a wrong value is named without the form, and the errors stay", async () => {
    expect(await refused({ retention_seconds: 5 })).toMatchObject({
      detail: "retention_seconds: expected number to be >=60, got 5",
      options: { errors: [{ path: "/retention_seconds", message: "expected number to be >=60" }] },
    });
  });

  test("a body that is not JSON keeps its code", async () => {
    const read = () => {
      throw new Problem("malformed_request", "The body is not valid JSON.");
    };
    await expect(expecting(nothing, read)).rejects.toMatchObject({
      code: "malformed_request",
      detail: "The body is not valid JSON; expected {}",
    });
  });

  test("another problem, and a fault of a task's input, stay as they are", async () => {
    const conflict = new Problem("conflict", "The task has ended.");
    const input = new Problem("invalid_input", "input: x", { errors: [{ path: "/input", message: "unknown field" }] });
    for (const problem of [conflict, input]) {
      const read = () => Promise.reject(problem);
      await expect(expecting(submitSchema, read)).rejects.toBe(problem);
    }
  });
});
