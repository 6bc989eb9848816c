import { describe, expect, test } from "vitest";
import { type CursorScope, Cursors } from "../../../src/api/http/cursor.ts";
import { Problem } from "../../../src/core/model/problem.ts";
import fc from "../../support/fast-check.ts";
import { operator, submitter } from "../../support/identities.ts";

const cursors = new Cursors("a key that nobody can guess");
const scope: CursorScope = { identity: operator, list: "tasks", filters: { type: "a", tags: { x: "1" } } };
const from = "2027-01-01T00:00:00.000Z#9b2f0c52-7a4c-4b1e-9a3e-0d8b1c2f3a4d";
const cursor = cursors.write(scope, from);

const refused = (given: string, within: CursorScope = scope) => {
  try {
    return cursors.read(within, given);
  } catch (error) {
    return error;
  }
};

describe("a cursor", () => {
  test("a cursor comes back as it was written", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        expect(cursors.read(scope, cursors.write(scope, text))).toBe(text);
      }),
    );
  });

  test("a cursor needs no encoding in a URL", () => {
    expect(cursor).toMatch(/^[A-Za-z0-9_.-]+$/);
  });

  test("a cursor is good for the same filters, in any order", () => {
    const same = { ...scope, filters: { tags: { x: "1" }, type: "a", priority: undefined } };
    expect(cursors.read(same, cursor)).toBe(from);
  });

  test("a cursor is good for every operator of its tenant, as all see the same list", () => {
    expect(cursors.read({ ...scope, identity: { ...operator, principal: "otto" } }, cursor)).toBe(from);
  });

  test.each<[string, Partial<CursorScope>]>([
    ["another tenant", { identity: { ...operator, tenantId: "globex" } }],
    ["a submitter", { identity: submitter }],
    ["another list", { list: "dead-letters" }],
    ["another filter", { filters: { type: "b", tags: { x: "1" } } }],
    ["no filter", { filters: {} }],
  ])("a cursor is not good for %s", (_, more) => {
    expect(refused(cursor, { ...scope, ...more })).toMatchObject({ code: "malformed_request" });
  });

  test("a cursor of one submitter is not good for another", () => {
    const own = { ...scope, identity: submitter };
    const mine = cursors.write(own, from);
    expect(cursors.read(own, mine)).toBe(from);
    expect(refused(mine, { ...own, identity: { ...submitter, principal: "sue" } })).toBeInstanceOf(Problem);
  });

  test("a cursor of another deployment is not good", () => {
    expect(refused(new Cursors("another key").write(scope, from))).toBeInstanceOf(Problem);
  });

  test.each([
    "",
    ".",
    "a",
    "a.b",
    "a.b.c",
    `${cursor}.`,
    `${cursor}.x`,
    cursor.slice(0, -4),
    `.${cursor.split(".")[1]}`,
  ])("%j is not a cursor", (given) => {
    expect(refused(given)).toMatchObject({ code: "malformed_request" });
  });

  test("a cursor whose bytes are changed is malformed", () => {
    // The last character of base64 has bits that mean nothing, so several characters stand for the same bytes there.
    const bytesOf = (text: string) => text.split(".").map((part) => Buffer.from(part, "base64url").toString("hex"));
    const own = bytesOf(cursor).join(".");
    const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
    fc.assert(
      fc.property(fc.nat(cursor.length - 1), fc.constantFrom(...letters), (index, letter) => {
        const given = `${cursor.slice(0, index)}${letter}${cursor.slice(index + 1)}`;
        fc.pre(bytesOf(given).join(".") !== own);
        expect(refused(given)).toMatchObject({ code: "malformed_request" });
      }),
    );
  });

  test("a cursor whose last character only decodes to the same bytes is malformed", () => {
    const last = cursor.at(-1) ?? "";
    const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"].filter(
      (one) => one !== last,
    );
    for (const letter of letters) {
      expect(refused(cursor.slice(0, -1) + letter)).toMatchObject({ code: "malformed_request" });
    }
  });

  test("any other text is malformed", () => {
    fc.assert(
      fc.property(fc.string(), (given) => {
        expect(refused(given)).toMatchObject({ code: "malformed_request" });
      }),
    );
  });
});
