import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { expectProblem, expectStatus } from "../support/http-client.ts";
import { operator, stranger } from "./callers.ts";

const order = async () => JSON.parse(await readFile(new URL("../../examples/order.json", import.meta.url), "utf8"));

describe.concurrent("invoice", () => {
  test("an order becomes a PDF file, with progress on the way", async () => {
    const { task_id } = await operator.submit("invoice.generate", await order());
    const progress: number[] = [];
    const task = await operator.ended(task_id, {
      seen: (now) => now.progress !== null && progress.push(now.progress),
    });
    expect(task).toMatchObject({ status: "completed", result: null, result_url: expect.stringMatching(/\S/) });
    expect(progress).toEqual(progress.toSorted((a, b) => a - b));
    expect(progress.at(-1)).toBeGreaterThan(0);
    expect(progress.at(-1)).toBeLessThanOrEqual(100);

    const answer = expectStatus(await operator.get(`/tasks/${task_id}/result`), 200);
    expect(answer.headers.get("content-type")).toBe("application/pdf");
    expect(answer.headers.get("content-disposition")).toMatch(/filename\*?=.*\.pdf/);
    expect(answer.bytes.subarray(0, 5).toString("latin1")).toBe("%PDF-");
    expect(answer.bytes.subarray(-32).toString("latin1")).toContain("%%EOF");
    expect((await operator.get(task.result_url ?? "")).bytes.equals(answer.bytes)).toBe(true);
  });

  test("another tenant cannot read the file", async () => {
    const { task_id } = await operator.submit("invoice.generate", await order());
    expectProblem(await stranger.get(`/tasks/${task_id}/result`), 404, "not_found");
    await operator.ended(task_id);
    expectProblem(await stranger.get(`/tasks/${task_id}/result`), 404, "not_found");
  });

  test("an order without lines is refused before anything is written", async () => {
    const { lines, ...rest } = await order();
    expect(lines).toBeInstanceOf(Array);
    const answer = await operator.post("/tasks", { type: "invoice.generate", input: rest });
    const { errors } = expectProblem(answer, 422, "invalid_input");
    expect(errors?.map(({ path }) => path)).toContainEqual("/input/lines");
  });
});
