import { describe, expect, test } from "vitest";
import * as z from "zod";
import { submitFields, uniqueSchema } from "../../../src/core/pipeline/submit/submit-body.ts";
import { checkedOnceKey } from "../../../src/core/task/once.ts";
import { checkedStepName } from "../../../src/core/task/step-calls.ts";

/** Two texts that UTF-8 writes as the same bytes. */
const halves = ["order-\ud800", "order-\udc00"];

describe("two keys that no UTF-8 can tell apart are refused", () => {
  test.each<[string, (key: string) => unknown]>([
    ["of once", checkedOnceKey],
    ["of a step", checkedStepName],
    ["of a unique task", (key) => uniqueSchema.parse({ key })],
    ["of a tag", (key) => z.strictObject({ tags: submitFields.tags }).parse({ tags: { order: key } })],
  ])("%s", (_, check) => {
    for (const key of halves) expect(() => check(key)).toThrow("well-formed Unicode");
    expect(() => check("order-😀")).not.toThrow();
  });
});
