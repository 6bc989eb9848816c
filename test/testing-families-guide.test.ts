import { defineTask, PermanentError } from "offload";
import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import * as z from "zod";

const sendBill = defineTask({
  name: "bill.send",
  input: z.object({ customer: z.string() }),
  handler: ({ customer }) => ({ sentTo: customer }),
});

const sendAllBills = defineTask({
  name: "bill.send_all",
  input: z.object({ customers: z.array(z.string()) }),
  children: { threshold: 0.5 },
  handler: async ({ customers }, task) => {
    await task.spawnAll(
      sendBill,
      customers.map((customer) => ({ customer })),
      { key: ({ customer }) => customer },
    );
  },
  aggregate: async ({ total, completed }) => ({ total, sent: completed }),
});

const input = { customers: ["ada", "bob"] };

test("each customer gets a bill", async () => {
  const outcome = await testKit([sendAllBills, sendBill]).run(sendAllBills, input);
  expect(outcome).toMatchObject({ status: "completed", result: { total: 2, sent: 2 } });
  expect(outcome.children).toMatchObject([
    { type: "bill.send", key: "ada", status: "completed", result: { sentTo: "ada" } },
    { type: "bill.send", key: "bob", status: "completed", result: { sentTo: "bob" } },
  ]);
});

test("one bill that fails does not stop the others", async () => {
  const error = new PermanentError("no address");
  const outcome = await testKit([sendAllBills, sendBill]).run(sendAllBills, input, {
    faults: [{ child: "bob", step: "claim", how: "throw", error }],
  });
  expect(outcome).toMatchObject({ status: "completed", result: { total: 2, sent: 1 } });
  expect(outcome.children[1]).toMatchObject({ key: "bob", status: "failed", error: "no address" });
});

test("the bills are complete, wherever a worker dies", async () => {
  await testKit([sendAllBills, sendBill]).crashEverywhere(sendAllBills, input, (outcome) => {
    expect(outcome).toMatchObject({ status: "completed", result: { total: 2, sent: 2 } });
  });
});
