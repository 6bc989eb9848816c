import { defineTask } from "offload";
import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import * as z from "zod";

const inbox = new Map<string, string>();

/** A fake of the mail service: it sends one mail for each idempotency key, as the real service does. */
const sendMail = async (to: string, idempotencyKey: string) => void inbox.set(idempotencyKey, to);

const updateCrm = defineTask({
  name: "crm.update",
  input: z.object({ email: z.email(), welcomed: z.boolean() }),
  handler: () => "updated",
});

const sendWelcome = defineTask({
  name: "welcome.send",
  input: z.object({ email: z.email() }),
  handler: async ({ email }, task) => {
    await task.once(`welcome/${email}`, (key) => sendMail(email, key));
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

test("a welcome is sent once, wherever the worker dies", async () => {
  inbox.clear();
  await testKit([sendWelcome]).crashEverywhere(sendWelcome, { email: "bob@example.com" }, (outcome) => {
    expect(outcome.status).toBe("completed");
    expect([...inbox.values()]).toEqual(["bob@example.com"]);
    inbox.clear();
  });
});
