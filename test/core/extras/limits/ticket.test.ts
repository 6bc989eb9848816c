import { expect, test } from "vitest";
import { parseTicket, type Ticket, ticketText } from "../../../../src/core/model/envelope.ts";

test.each<[Ticket, string]>([
  [{}, "@"],
  [{ hasPermit: true }, "held@"],
  [{ slotMs: 1_800_000_000_123 }, "@1800000000123"],
  [{ tryUntilMs: 5 }, "@@5"],
  [{ hasPermit: true, slotMs: 4, tryUntilMs: 5 }, "held@4@5"],
])("the ticket %j is the text %s", (ticket, text) => {
  expect(ticketText(ticket)).toBe(text);
  expect(parseTicket(text)).toEqual(ticket);
});

test.each(["", "held", "@x", "@4@", "@4@5@6", undefined])("the text %j is no ticket", (text) => {
  expect(parseTicket(text)).toBeUndefined();
});
