import { defineTask } from "offload";
import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import * as z from "zod";

const paid: string[] = [];

const payOut = defineTask({
  name: "expenses.pay_out",
  input: z.strictObject({ report: z.string() }),
  handler: async ({ report }, task) => {
    const answer = await task.waitFor<{ by: string }>("approved", { timeoutSeconds: 30 * 86_400 });
    if (answer === undefined) return { paid: false };
    await task.step("pay", () => paid.push(report));
    return { paid: true };
  },
});

test("an approved report is paid, days later", async () => {
  const signals = [{ name: "approved", body: { by: "ada" }, afterSeconds: 3 * 86_400 }];
  const { result, attempts, seconds } = await testKit([payOut]).run(payOut, { report: "r1" }, { signals });
  expect(result).toEqual({ paid: true });
  expect(attempts).toHaveLength(1);
  expect(seconds).toBe(3 * 86_400);
  expect(paid.splice(0)).toEqual(["r1"]);
});

test("a report that is not approved is not paid, after 30 days", async () => {
  const { result, seconds } = await testKit([payOut]).run(payOut, { report: "r2" });
  expect(result).toEqual({ paid: false });
  expect(seconds).toBe(30 * 86_400);
  expect(paid.splice(0)).toEqual([]);
});
