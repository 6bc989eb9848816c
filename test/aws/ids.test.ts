import { validate, version } from "uuid";
import { describe, expect, test } from "vitest";
import { newId } from "../../src/aws/ids.ts";

describe("ids of tasks", () => {
  const ids = Array.from({ length: 20_000 }, newId);

  test("each is another UUID of version 7, with the time of its creation", () => {
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(validate(id) && version(id)).toBe(7);
    const ms = Number.parseInt(ids.at(-1)?.replaceAll("-", "").slice(0, 12) ?? "", 16);
    expect(Math.abs(Date.now() - ms)).toBeLessThan(60_000);
  });

  test("they sort in the order in which they were made, also within a millisecond", () => {
    expect(ids.toSorted()).toEqual(ids);
  });

  test("their last 64 bits are not those of another id, as the random bytes of many are taken at once", () => {
    expect(new Set(ids.map((id) => id.slice(-16))).size).toBe(ids.length);
  });
});
