import { defineTask } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";
import writeReply from "./ticket.reply.ts";
import triageTicket from "./ticket.triage.ts";

/** Submitted with `unique: { key: ticketId }`: a trigger sends the customer's reply to this key. */
export default defineTask({
  name: "ticket.answer",
  input: z.strictObject({ ticketId: z.string(), text: z.string() }),
  handler: async ({ ticketId, text }, task) => {
    const triage = await task.run(triageTicket, { text });
    const reply = await task.run(writeReply, { text });
    const answer = await task.waitFor("reply", { timeoutSeconds: 3 * 86_400 });
    if (answer === undefined) await task.step("escalate", (key) => call("team/assign", { ticketId, ...triage }, key));
    return { ...triage, reply, status: answer === undefined ? "escalated" : "resolved" };
  },
});
