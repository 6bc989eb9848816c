import { describe, expect, test } from "vitest";
import { errorFingerprint, withoutVariables } from "../../../src/core/control/find-dead-letters.ts";

describe("an error's text without its variable parts", () => {
  test.for<[string, string]>([
    ["order 4711 has no address", "order # has no address"],
    ["order ord_8Kx2 has no address", "order # has no address"],
    ["task 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11 is gone", "task # is gone"],
    ["object deadbeefcafe is gone", "object # is gone"],
    ["commit a94a8fe5ccb19ba61c4c0873d391e987982fbbd3", "commit #"],
    ["0x7ffe is no address", "# is no address"],
    ['no user "ada@example.com"', "no user #"],
    ["no user 'Ada Lovelace' here", "no user # here"],
    ["no column `total` in the table", "no column # in the table"],
    ["the server can't reach the mayor's office", "the server can't reach the mayor's office"],
    ["connect ECONNREFUSED 10.0.0.1:5432", "connect ECONNREFUSED #"],
    ["connect ECONNREFUSED 10.0.12.255:443", "connect ECONNREFUSED #"],
    ["took 1,203.5 ms, at most 1000 ms", "took # ms, at most # ms"],
    ["it is -12 degrees, 40% of 3", "it is # degrees, # of #"],
    ["refused at 2026-04-07T10:02:14.120Z by the relay", "refused at # by the relay"],
    ["refused at 2026-04-07 10:02:14+02:00 by the relay", "refused at # by the relay"],
    [
      "GET https://api.example.com/orders/17/items?page=2&q=a failed",
      "GET https://api.example.com/orders/#/items failed",
    ],
    ["ENOENT: no such file, open /tmp/run-1f2e/input.json", "ENOENT: no such file, open /tmp/#/input.json"],
    ["is it? yes", "is it? yes"],
    ["ids 1, 2, 3 are unknown", "ids # are unknown"],
    ["ids 1, 2, 3, 4 are unknown", "ids # are unknown"],
    ["  several\n\tlines  ", "several lines"],
    ["Kunde Müller-17 fehlt", "Kunde # fehlt"],
    ["", ""],
  ])("%j becomes %j", ([text, expected]) => {
    expect(withoutVariables(text)).toBe(expected);
  });
});

describe("a fingerprint", () => {
  const of = (error_type: string, error: string) => errorFingerprint({ error_type, error });

  test("it has 16 hexadecimal digits, and stays as it is", () => {
    expect(of("Error", "order 4711 has no address")).toBe("56d96c5aaaed3847");
    expect(errorFingerprint({})).toMatch(/^[0-9a-f]{16}$/);
  });

  test("errors that differ in their variable parts only have the same one", () => {
    expect(of("Error", "order 1 is late")).toBe(of("Error", "order 98765 is late"));
    expect(of("Error", "order 1 is late")).not.toBe(of("RangeError", "order 1 is late"));
    expect(of("Error", "order 1 is late")).not.toBe(of("Error", "order 1 is lost"));
  });

  test("the class and the text do not run into each other", () => {
    expect(of("Error", "s are bad")).not.toBe(of("Errors", " are bad"));
    expect(of("", "Error")).not.toBe(of("Error", ""));
  });
});
