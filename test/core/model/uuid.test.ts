import { v5 } from "uuid";
import { expect, test } from "vitest";
import { namedUuid } from "../../../src/util/uuid.ts";
import fc from "../../support/fast-check.ts";

test("a name has the id that the library gives it, whatever its characters", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 60 }), fc.uuid(), (name, namespace) => {
      expect(namedUuid(name, namespace)).toBe(v5(name, namespace));
    }),
  );
});
