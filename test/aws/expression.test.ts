import { describe, expect, test } from "vitest";
import { updateOf } from "../../src/aws/expression.ts";
import type { Test } from "../../src/core/model/change.ts";

const noon = "2027-01-01T12:00:00.000Z";

describe("the update of a change", () => {
  test("every field is named by a placeholder, and the condition demands that the record exists", () => {
    const update = updateOf({
      when: { status: { is: "pending" }, due_at: { atMost: noon } },
      set: { status: "processing", updated_at: noon },
      add: { attempts: 1 },
      remove: ["progress"],
    });
    expect(update).toEqual({
      UpdateExpression:
        "SET #status = :v2, #updated_at = :v3, #attempts = if_not_exists(#attempts, :v4) + :v5 REMOVE #progress",
      ConditionExpression: "attribute_exists(#pk) AND #status = :v0 AND #due_at <= :v1",
      ExpressionAttributeNames: {
        "#pk": "pk",
        "#status": "status",
        "#due_at": "due_at",
        "#updated_at": "updated_at",
        "#attempts": "attempts",
        "#progress": "progress",
      },
      ExpressionAttributeValues: {
        ":v0": "pending",
        ":v1": noon,
        ":v2": "processing",
        ":v3": noon,
        ":v4": 0,
        ":v5": 1,
      },
    });
  });

  test("an update appends to the history", () => {
    const append = { round: 1, number: 1, started_at: noon, finished_at: noon, outcome: "completed" } as const;
    expect(updateOf({ when: {}, append })).toMatchObject({
      UpdateExpression: "SET #history = list_append(#history, :v0)",
      ExpressionAttributeValues: { ":v0": [append] },
    });
    const earlier = { ...append, number: 0 };
    expect(updateOf({ when: {}, set: { history: [earlier] }, append })).toMatchObject({
      UpdateExpression: "SET #history = :v0",
      ExpressionAttributeValues: { ":v0": [earlier, append] },
    });
  });

  test("an update leaves out what is set to undefined", () => {
    const { UpdateExpression, ExpressionAttributeNames } = updateOf({
      when: {},
      set: { outcome: undefined, progress: 1 },
    });
    expect(UpdateExpression).toBe("SET #progress = :v0");
    expect(ExpressionAttributeNames).not.toHaveProperty("#outcome");
  });

  test("an update changes the keys of an index together with its fields", () => {
    const set = { set: { dead_letter_pk: "acme#0", dead_letter_sk: "x" } };
    expect(updateOf({ when: {}, set: { status: "failed" } }, set).UpdateExpression).toBe(
      "SET #status = :v0, #dead_letter_pk = :v1, #dead_letter_sk = :v2",
    );
    const remove = { remove: ["dead_letter_pk", "dead_letter_sk"] };
    expect(updateOf({ when: {}, remove: ["dead_letter_at"] }, remove).UpdateExpression).toBe(
      "REMOVE #dead_letter_at, #dead_letter_pk, #dead_letter_sk",
    );
  });

  test("an update that needs no values has none, because DynamoDB refuses an empty list of them", () => {
    const update = updateOf({ when: { progress: { absent: true } }, remove: ["progress"] });
    expect(update).not.toHaveProperty("ExpressionAttributeValues");
  });

  test("an update defines exactly the names and values that its expressions mention", () => {
    const update = updateOf({
      when: {
        status: { in: ["pending", "failed"] },
        start_by: { above: noon, orAbsent: true },
        progress: { absent: true },
      },
      set: { status: "failed", error: "x", result: { a: [1] } },
      add: { attempts: 1, attempts_total: 1, round: 1 },
      remove: ["lease_until", "start_by"],
      append: { round: 1, number: 1, started_at: noon, finished_at: noon, outcome: "failed" },
    });
    const text = `${update.UpdateExpression} ${update.ConditionExpression}`;
    const mentioned = (pattern: RegExp) => [...new Set(text.match(pattern))].sort();
    expect(mentioned(/#\w+/g)).toEqual(Object.keys(update.ExpressionAttributeNames).sort());
    expect(mentioned(/:\w+/g)).toEqual(Object.keys(update.ExpressionAttributeValues ?? {}).sort());
  });
});

describe("the condition of a test", () => {
  test.each<[Test, string, unknown[]]>([
    [{ is: "a" }, "#error = :v0", ["a"]],
    [{ in: ["a", "b"] }, "#error IN (:v0, :v1)", ["a", "b"]],
    [{ atMost: noon }, "#error <= :v0", [noon]],
    [{ atMost: noon, orAbsent: true }, "(attribute_not_exists(#error) OR #error <= :v0)", [noon]],
    [{ above: 5 }, "#error > :v0", [5]],
    [{ above: 5, orAbsent: true }, "(attribute_not_exists(#error) OR #error > :v0)", [5]],
    [{ absent: true }, "attribute_not_exists(#error)", []],
  ])("the test %j becomes %s", (condition, expression, values) => {
    const update = updateOf({ when: { error: condition }, remove: ["progress"] });
    expect(update.ConditionExpression).toBe(`attribute_exists(#pk) AND ${expression}`);
    expect(Object.values(update.ExpressionAttributeValues ?? {})).toEqual(values);
  });
});
