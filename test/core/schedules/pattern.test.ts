import { describe, expect, test } from "vitest";
import { type EventPattern, matchesPattern, patternFault } from "../../../src/core/schedules/pattern.ts";

/* The examples are those of AWS's pages on comparison operators, arrays, null values and $or, and of the README of Event Ruler. */

const event = (detail: unknown = {}, envelope: object = {}) => ({
  version: "0",
  id: "ddddd4-aaaa-7777-4444-345dd43cc333",
  "detail-type": "EC2 Instance State-change Notification",
  source: "aws.ec2",
  account: "012345679012",
  time: "2017-10-02T16:24:49Z",
  region: "us-east-1",
  resources: ["arn:aws:ec2:us-east-1:123456789012:instance/i-000000aaaaaa00000"],
  detail,
  ...envelope,
});

const matches = (values: unknown, value: unknown) => {
  const pattern = { detail: { field: values } } as EventPattern;
  expect(patternFault(pattern)).toBeUndefined();
  return matchesPattern(pattern, event(value === undefined ? {} : { field: value }));
};

describe("a pattern of an event", () => {
  const instance = event({ state: "running", "c-count": 5, "d-count": 3, "x-limit": 301.8, "source-ip": "10.0.0.33" });

  test.each<[what: string, matches: boolean, pattern: EventPattern]>([
    ["one field of the envelope", true, { source: ["aws.ec2"] }],
    ["a field with another value", false, { source: ["aws.s3"] }],
    ["one of several values", true, { detail: { state: ["initializing", "running"] } }],
    ["all fields", true, { source: ["aws.ec2"], detail: { state: ["running"], "c-count": [5] } }],
    ["all fields but one", false, { source: ["aws.ec2"], detail: { state: ["running"], "c-count": [6] } }],
    ["a field that the event does not have", false, { detail: { colour: ["red"] } }],
    ["an element of an array", true, { resources: [{ suffix: "i-000000aaaaaa00000" }] }],
    [
      "AWS's complex example",
      true,
      {
        time: [{ prefix: "2017-10-02" }],
        detail: {
          state: [{ "anything-but": "initializing" }],
          "c-count": [{ numeric: [">", 0, "<=", 5] }],
          "d-count": [{ numeric: ["<", 10] }],
          "x-limit": [{ "anything-but": [100, 200, 300] }],
          "source-ip": [{ cidr: "10.0.0.0/8" }],
        },
      },
    ],
  ])("compares %s", (_, expected, pattern) => {
    expect(patternFault(pattern)).toBeUndefined();
    expect(matchesPattern(pattern, instance)).toBe(expected);
  });

  test("does not take inherited names for fields", () => {
    const pattern = { detail: { constructor: { name: ["Object"] }, toString: [{ exists: true }] } } as never;
    expect(matchesPattern(pattern, event())).toBe(false);
  });
});

describe("the operators", () => {
  test.each<[values: unknown, matching: unknown[], others: unknown[]]>([
    // Exact values, of the same JSON type.
    [["Alice"], ["Alice", ["Bob", "Alice"]], ["alice", "", null, undefined, {}, ["Bob"]]],
    [[100], [100, 100.0], ["100", 101, true]],
    [[true], [true], ["true", 1]],
    [[null], [null, [null]], ["null", "", undefined, 0]],
    [[""], [""], [null, undefined, " "]],
    [[{ exactly: "Alice" }], ["Alice"], ["alice", 7]],
    // Texts.
    [[{ prefix: "us-" }], ["us-", "us-east-1"], ["eu-us-", "US-east-1", 5, undefined]],
    [[{ prefix: { "equals-ignore-case": "EventB" } }], ["eventbridge", "EVENTBRIDGE"], ["even"]],
    [[{ prefix: "" }], ["", "any"], [5, null, undefined]],
    [[{ suffix: ".png" }], ["a.png", ".png"], ["a.PNG", "a.png.txt"]],
    [[{ suffix: { "equals-ignore-case": ".png" } }], ["a.PNG"], ["a.jpg"]],
    [[{ "equals-ignore-case": "alice" }], ["Alice", "ALICE"], ["alic", 1]],
    [[{ wildcard: "dir/*.png" }], ["dir/.png", "dir/a/b.png", "dir/\n.png"], ["dir/a.jpg", "a/dir/x.png", 1]],
    [[{ wildcard: "a*b*a" }], ["aba", "axbxa", "abba"], ["aa", "ab", "abab"]],
    [[{ wildcard: "aa*aa" }], ["aaaa", "aa-aa"], ["aaa"]],
    [[{ wildcard: "a\\*b\\\\c" }], ["a*b\\c"], ["axb\\c", "a\\*b\\\\c"]],
    [[{ wildcard: "a.c" }], ["a.c"], ["abc"]],
    [[{ wildcard: "*" }], ["", "any"], [1]],
    // Numbers.
    [[{ numeric: ["=", 3.018e2] }], [301.8], ["301.8", 302, null]],
    [[{ numeric: [">", 10, "<=", 20] }], [10.1, 20], [10, 20.1, "15", true]],
    [[{ numeric: [">=", -1] }], [-1, 0], [-1.5]],
    // Addresses.
    [[{ cidr: "10.0.0.0/24" }], ["10.0.0.0", "10.0.0.255"], ["10.0.1.0", "::1", "10.0.0", "text", 167772161]],
    [[{ cidr: "10.0.0.5/24" }], ["10.0.0.200"], ["10.0.1.5"]],
    [[{ cidr: "2001:db8::/32" }], ["2001:db8::1", "2001:DB8:0::1"], ["2001:db9::1", "10.0.0.1"]],
    // Presence: objects and empty arrays are not values.
    [[{ exists: true }], [0, "", null, false, [1]], [undefined, {}, [], [[]], { a: 1 }]],
    [[{ exists: false }], [undefined, {}, [], { a: 1 }], [0, "", null, false]],
    [
      [{ exists: false }, "x"],
      [undefined, "x"],
      ["y", null],
    ],
    // Everything but.
    [[{ "anything-but": "initializing" }], ["running", 5, null, true], ["initializing", undefined, {}, []]],
    [[{ "anything-but": 123 }], [124, "123"], [123]],
    [[{ "anything-but": ["stopped", "overloaded"] }], ["running", ["stopped", "running"]], ["stopped", ["stopped"]]],
    [[{ "anything-but": [100, 200] }], [150], [100, 200]],
    [[{ "anything-but": { prefix: "us-" } }], ["eu-west-1", 5], ["us-east-1"]],
    [[{ "anything-but": { prefix: ["us-", "eu-"] } }], ["ap-1"], ["us-1", "eu-1"]],
    [[{ "anything-but": { suffix: ".png" } }], ["a.jpg"], ["a.png"]],
    [[{ "anything-but": { suffix: [".png", ".jpg"] } }], ["a.gif"], ["a.png", "a.jpg"]],
    [[{ "anything-but": { "equals-ignore-case": "initializing" } }], ["running"], ["INITIALIZING"]],
    [[{ "anything-but": { "equals-ignore-case": ["a", "b"] } }], ["c"], ["A", "B"]],
    [[{ "anything-but": { wildcard: "*/lib/*" } }], ["/src/a"], ["/src/lib/a"]],
    [[{ "anything-but": { wildcard: ["*/lib/*", "*/bin/*"] } }], ["/src/a"], ["/x/lib/a", "/x/bin/a"]],
  ])("%j", (values, matching, others) => {
    for (const value of matching) expect([value, matches(values, value)]).toEqual([value, true]);
    for (const value of others) expect([value, matches(values, value)]).toEqual([value, false]);
  });
});

describe("$or", () => {
  const pattern: EventPattern = {
    source: ["aws.cloudwatch"],
    detail: {
      $or: [
        { metricName: ["CPUUtilization", "ReadLatency"] },
        { metricType: ["MetricType"], $or: [{ metricId: [1234] }, { spaceId: [1000] }] },
        { scope: ["Service"] },
      ],
    },
  };

  test.each<[boolean, object]>([
    [true, { metricName: "ReadLatency" }],
    [true, { scope: "Service" }],
    [true, { metricType: "MetricType", spaceId: 1000 }],
    [false, { metricType: "MetricType" }],
    [false, { metricId: 1234 }],
    [false, {}],
  ])("matches %s for %j", (expected, detail) => {
    expect(patternFault(pattern)).toBeUndefined();
    expect(matchesPattern(pattern, event(detail, { source: "aws.cloudwatch" }))).toBe(expected);
    expect(matchesPattern(pattern, event(detail))).toBe(false);
  });

  test("may choose among fields of the envelope", () => {
    const either: EventPattern = { $or: [{ source: ["a"] }, { "detail-type": ["b"] }] };
    expect(patternFault(either)).toBeUndefined();
    expect(matchesPattern(either, event({}, { "detail-type": "b" }))).toBe(true);
    expect(matchesPattern(either, event())).toBe(false);
  });
});

describe("arrays of objects", () => {
  const pattern: EventPattern = { detail: { employees: { firstName: ["Anna"], lastName: ["Jones"] } } };
  const of = (...names: [string, string][]) =>
    event({ employees: names.map(([firstName, lastName]) => ({ firstName, lastName })) });

  test("all fields of a nested pattern must be in the same element", () => {
    expect(matchesPattern(pattern, of(["John", "Doe"], ["Anna", "Jones"]))).toBe(true);
    expect(matchesPattern(pattern, of(["Anna", "Smith"], ["Peter", "Jones"]))).toBe(false);
    expect(matchesPattern(pattern, of())).toBe(false);
  });

  test("a value that is not an object has no fields", () => {
    const absent: EventPattern = { detail: { state: { name: [{ exists: false }] } } };
    expect(matchesPattern(absent, event({ state: "running" }))).toBe(true);
    expect(matchesPattern(absent, event({ state: { name: "x" } }))).toBe(false);
  });
});

describe("a pattern that is not valid", () => {
  test.each<[fault: string, pattern: unknown]>([
    ["expected an object", null],
    ["expected an object", []],
    ["expected at least one field", {}],
    ["detail: expected at least one field", { detail: {} }],
    ["detailType: events have no such field; expected one of version, id, detail-type, source", { detailType: ["a"] }],
    ['source: expected an array of values, such as ["aws.s3"]', { source: "aws.s3" }],
    ["source: expected at least one value", { source: [] }],
    ["detail.a.b: expected texts, numbers, true, false, null", { detail: { a: { b: [["x"]] } } }],
    ["detail.a.b.c: expected nested objects instead of a name with dots", { detail: { a: { "b.c": ["x"] } } }],
    ["source: expected one of exactly, prefix, suffix", { source: [{ startsWith: "aws" }] }],
    ["source: expected one of exactly, prefix, suffix", { source: [{ prefix: "a", suffix: "b" }] }],
    ["source: expected one of exactly, prefix, suffix", { source: [{}] }],
    ["source: prefix: expected a text", { source: [{ prefix: 5 }] }],
    ["source: suffix: expected a text or { equals-ignore-case", { source: [{ suffix: { wildcard: "a" } }] }],
    ["source: wildcard: expected no two asterisks in a row", { source: [{ wildcard: "a**" }] }],
    ["source: wildcard: expected a backslash only before", { source: [{ wildcard: "a\\b" }] }],
    ["source: wildcard: expected a backslash only before", { source: [{ wildcard: "a\\" }] }],
    ["detail.a: exists: expected true or false", { detail: { a: [{ exists: "true" }] } }],
    ["detail.a: numeric: expected a comparison", { detail: { a: [{ numeric: 5 }] } }],
    ["detail.a: numeric: expected a comparison", { detail: { a: [{ numeric: ["!=", 5] }] } }],
    ["detail.a: numeric: expected a comparison", { detail: { a: [{ numeric: ["<", 5, ">", 1] }] } }],
    ["detail.a: numeric: expected a comparison", { detail: { a: [{ numeric: [">", 6e9] }] } }],
    ["detail.a: numeric: expected a comparison", { detail: { a: [{ numeric: [">", 1, "<", 5, "<", 6] }] } }],
    ["detail.a: numeric: expected a lower bound", { detail: { a: [{ numeric: [">", 5, "<", 5] }] } }],
    ["detail.a: cidr: expected a block of addresses", { detail: { a: [{ cidr: "10.0.0.1" }] } }],
    ["detail.a: cidr: expected a block of addresses", { detail: { a: [{ cidr: "10.0.0.256/8" }] } }],
    ["detail.a: cidr: expected at most 31 bits", { detail: { a: [{ cidr: "10.0.0.0/32" }] } }],
    ["detail.a: cidr: expected at most 127 bits", { detail: { a: [{ cidr: "::/128" }] } }],
    ["detail.a: anything-but: expected a text, a number", { detail: { a: [{ "anything-but": ["x", 1] }] } }],
    ["detail.a: anything-but: expected a text, a number", { detail: { a: [{ "anything-but": [] }] } }],
    ["detail.a: anything-but: expected a text, a number", { detail: { a: [{ "anything-but": null }] } }],
    ["detail.a: anything-but: expected one of prefix", { detail: { a: [{ "anything-but": { numeric: ["=", 1] } }] } }],
    ["anything-but: prefix: expected at least one text", { detail: { a: [{ "anything-but": { prefix: "" } }] } }],
    ["anything-but: wildcard: expected no two", { detail: { a: [{ "anything-but": { wildcard: ["a", "**"] } }] } }],
    ["$or: expected an array of at least two objects", { $or: [{ source: ["a"] }] }],
    ["$or: expected an array of at least two objects", { $or: { source: ["a"] } }],
    ["detail.$or: expected an array", { detail: { $or: ["a", "b"].slice(1) } }],
    ["detail: expected an object", { detail: { $or: ["a", "b"] } }],
    ["detail.prefix: EventBridge does not accept a field of this name within $or", orOf({ prefix: ["a"] })],
    ["detail.a: expected one condition of a field", { detail: { a: ["x"], $or: [{ a: ["y"] }, { b: ["z"] }] } }],
    ["expected at most 4096 bytes of JSON", { source: ["x".repeat(5_000)] }],
    ["$or makes more than 1000 combinations", manyCombinations()],
  ])("%s", (fault, pattern) => {
    expect(patternFault(pattern)).toContain(fault);
  });

  test("a field may have the name of an operator outside of $or", () => {
    expect(patternFault({ detail: { prefix: ["a"] } })).toBeUndefined();
  });
});

function orOf(branch: object): object {
  return { detail: { $or: [branch, { b: ["z"] }] } };
}

function manyCombinations(): object {
  const or = (name: string) => ({ [name]: { $or: [..."0123456789a"].map((field) => ({ [field]: ["x"] })) } });
  return { detail: { ...or("a"), ...or("b"), ...or("c") } };
}
