import { defineTask } from "offload";
import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import * as z from "zod";

const sent: string[] = [];

const updateCrm = defineTask({
  name: "crm.update",
  input: z.object({ email: z.email(), welcomed: z.boolean() }),
  handler: () => "updated",
});

const sendWelcome = defineTask({
  name: "welcome.send",
  input: z.object({ email: z.email() }),
  handler: async ({ email }, task) => {
    await task.once(`welcome-${email}`, () => sent.push(email));
    task.progress(50);
    await task.submit(updateCrm, { email, welcomed: true });
    return { email };
  },
});

test("a welcome is sent", async () => {
  const outcome = await testKit([sendWelcome]).run(sendWelcome, { email: "ada@example.com" });
  expect(outcome.status).toBe("completed");
  expect(outcome.result).toEqual({ email: "ada@example.com" });
  expect(outcome.progress).toEqual([50]);
  expect(outcome.submitted).toMatchObject([{ type: "crm.update", input: { welcomed: true } }]);
});

test("a welcome is sent once, wherever a worker dies", async () => {
  const whole = await testKit([sendWelcome]).run(sendWelcome, { email: "bob@example.com" });
  const steps = whole.attempts[0]?.steps ?? [];
  for (const [index, name] of steps.entries()) {
    sent.length = 0;
    const faults = [{ step: index + 1, how: "crash" }] as const;
    const outcome = await testKit([sendWelcome]).run(sendWelcome, { email: "bob@example.com" }, { faults });
    expect(outcome.status, name).toBe("completed");
    expect(sent, name).toEqual(["bob@example.com"]);
  }
});
