import { expect, test } from "vitest";
import { sharesText } from "../../console/src/pages/tasks-shares.ts";

const of = (tenant_id: string, number: number) => Array.from({ length: number }, () => ({ tenant_id }));

test("the tenants of a list are counted, the largest first; those behind the fourth are one number", () => {
  expect(sharesText([...of("acme", 2), ...of("globex", 3)])).toBe("globex 3, acme 2");
  const many = ["a", "b", "c", "d", "e", "f"].flatMap((name, index) => of(name, 6 - index));
  expect(sharesText(many)).toBe("a 6, b 5, c 4, d 3, 2 others 3");
});

test("a list of one tenant, whose tasks do not name it, has no shares", () => {
  expect(sharesText([{}, {}])).toBe("");
});
