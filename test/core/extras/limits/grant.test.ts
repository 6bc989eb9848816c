import { expect, test } from "vitest";
import { type Grant, grantText, parseGrant } from "../../../../src/core/model/grant.ts";

test.each<[Grant, string]>([
  [{}, "@"],
  [{ held: true }, "held@"],
  [{ slotMs: 1_800_000_000_123 }, "@1800000000123"],
  [{ tryUntilMs: 5 }, "@@5"],
  [{ held: true, slotMs: 4, tryUntilMs: 5 }, "held@4@5"],
])("the grant %j is the text %s", (grant, text) => {
  expect(grantText(grant)).toBe(text);
  expect(parseGrant(text)).toEqual(grant);
});

test.each(["", "held", "@x", "@4@", "@4@5@6", undefined])("the text %j is no grant", (text) => {
  expect(parseGrant(text)).toBeUndefined();
});
