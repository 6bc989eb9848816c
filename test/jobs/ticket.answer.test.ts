import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import { world } from "./tasks/lib/world.ts";
import answerTicket from "./tasks/ticket.answer.ts";
import writeReply from "./tasks/ticket.reply.ts";
import triageTicket from "./tasks/ticket.triage.ts";

const kit = testKit([answerTicket, writeReply, triageTicket]);
const input = { ticketId: "t", text: "The site is down, and my invoice is wrong" };
const begin = () => world.begin({ "llm/write": () => "We look into it." });
const triage = { category: "billing", priority: "high", reply: "We look into it." };

test("a customer who answers is done, one who does not gets a person", async () => {
  begin();
  const signals = [{ name: "reply", body: { text: "thanks" }, afterSeconds: 86_400 }];
  expect((await kit.run(answerTicket, input, { signals })).result).toEqual({ ...triage, status: "resolved" });
  expect((await kit.run(answerTicket, input)).result).toEqual({ ...triage, status: "escalated" });
  expect(world.of("team/assign")).toHaveLength(1);
});

test("the model is asked once, and one person gets the ticket, wherever a worker dies", async () => {
  begin();
  await kit.crashEverywhere(answerTicket, input, ({ result }) => {
    expect(result).toEqual({ ...triage, status: "escalated" });
    expect(world.of("team/assign")).toHaveLength(1);
    expect(world.of("llm/write").length).toBeLessThanOrEqual(2);
    begin();
  });
});
