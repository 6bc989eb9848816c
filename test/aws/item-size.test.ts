import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { describe, expect, test } from "vitest";
import type { TaskRecord } from "../../src/core/model/record.ts";
import { keptText, recordBytesOf } from "../../src/core/pipeline/send/kept-input.ts";
import { itemBytesOf, unitBytes } from "../../src/util/item-bytes.ts";
import fc from "../support/fast-check.ts";
import { operator, submitter } from "../support/identities.ts";
import { itemBytes } from "../support/item-bytes.ts";
import { pipelineWith } from "../support/memory-pipeline.ts";
import { notices } from "../support/parts/notices.ts";
import { unique } from "../support/parts/unique.ts";
import { typeOf } from "../support/task-types.ts";

const memoryPipeline = pipelineWith(notices, unique);

/*
 * The rules of "DynamoDB item sizes and formats": names and values; a number has a byte for two significant digits and
 * one more; a list or map 3 bytes and 1 for each member; true, false and null 1.
 */
function sizeOf(value: AttributeValue): number {
  if (value.S !== undefined) return new TextEncoder().encode(value.S).length;
  if (value.N !== undefined) return Math.ceil(significant(value.N).length / 2) + 1 + Number(value.N.startsWith("-"));
  if (value.L !== undefined) return value.L.reduce((sum, one) => sum + 1 + sizeOf(one), 3);
  if (value.M !== undefined)
    return Object.values(value.M).reduce((sum, one) => sum + 1 + sizeOf(one), 3) + namesOf(value.M);
  return 1;
}

const significant = (number: string) => number.replace(/^-|\.|[eE].*$/g, "").replace(/^0+|0+$/g, "");

const namesOf = (map: object) => Object.keys(map).reduce((sum, name) => sum + new TextEncoder().encode(name).length, 0);

const sizeOfItem = (item: Record<string, unknown>): number => {
  const stored = marshall(item, { removeUndefinedValues: true, convertClassInstanceToMap: true });
  return Object.values(stored).reduce((sum, one) => sum + sizeOf(one), namesOf(stored));
};

/** Zeros at the ends of a number count here, and a sign is one more character. */
const spareOf = (item: Record<string, unknown>): number =>
  JSON.stringify(item).match(/\d+(\.\d+)?(e[+-]\d+)?/g)?.length ?? 0;

test("the size of an item is that of DynamoDB's rules, and never less", () => {
  const leaf = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.integer({ min: 0, max: 2_000_000_001 }),
    fc.boolean(),
    fc.constant(null),
  );
  // The SDK's `marshall`, which judges here, loses an attribute with this name.
  const name = fc.string().filter((text) => text !== "__proto__");
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ depthSize: "small" }, leaf, fc.array(tie("value")), fc.dictionary(name, tie("value"))),
  }));
  fc.assert(
    fc.property(fc.dictionary(fc.string({ minLength: 1 }), value), (item) => {
      const exact = sizeOfItem(item);
      expect(itemBytesOf(item)).toBeGreaterThanOrEqual(exact);
      expect(itemBytesOf(item)).toBeLessThanOrEqual(exact + 5 * spareOf(item));
    }),
  );
});

const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
const usual = { ...submitter, tenantId: "a-usual-customer", principal: "0123456789abcdef" };

/** Common shapes of small tasks. */
const shapes: [string, unknown, Record<string, unknown>, object][] = [
  ["echo", { value: 1 }, {}, {}],
  ["a number", 7, {}, {}],
  ["null", null, {}, {}],
  ["an id", { id: "0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11" }, {}, {}],
  ["an order", { order: 4711, customer: "c-17", total: 19.9 }, {}, {}],
  ["a mail", { to: "ann@example.com", template: "welcome", language: "en" }, {}, {}],
  ["a long mail", { to: "ann@example.com", subject: "Welcome", body: "x".repeat(300) }, {}, {}],
  ["a list of ids", { ids: Array.from({ length: 12 }, (_, index) => 1000 + index) }, {}, {}],
  ["an invoice with tags", { invoice: "I-2026-0001" }, { tags: { order: "4711", customer: "4712" } }, {}],
  ["a submitter's", { id: 1 }, {}, { identity: usual }],
  ["a submitter's, with a trace", { id: 1 }, {}, { identity: usual, traceparent }],
  ["a submitter's, with a trace and tags", { id: 1 }, { tags: { order: "4711" } }, { identity: usual, traceparent }],
  ["with a trace", { id: 1 }, {}, { identity: operator, traceparent }],
  ["a delayed one", { id: 1 }, { delay_seconds: 60 }, {}],
  ["one that expires", { id: 1 }, { expires_in_seconds: 60 }, {}],
  ["a unique one", { id: 1 }, { unique: { key: "k" } }, {}],
  ["with a webhook", { id: 1 }, { callback: { url: "https://receiver.example/hooks/offload" } }, {}],
  ["with an idempotency key", { id: 1 }, {}, { idempotencyKey: "order-4711" }],
  ["a large report", { rows: "r".repeat(900) }, {}, {}],
  [
    "all options",
    { id: 1 },
    { tags: { order: "4711" }, delay_seconds: 5, expires_in_seconds: 60 },
    { identity: usual, traceparent },
  ],
];

const unitsOf = (bytes: number) => Math.ceil(bytes / unitBytes);

const without = ({ shown_input: _, kept_input: __, ...record }: TaskRecord): TaskRecord => record;

describe("a completed task has its input where that costs no write unit", () => {
  test.each(shapes)("%s", async (_, input, options, call) => {
    const pipeline = memoryPipeline([typeOf((given) => given, { name: "invoice.generate" })]);
    const accepted = await pipeline.accept(
      { input, ...options },
      { correlationId: "0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11", ...call },
    );
    await pipeline.drain();
    for (const record of [accepted, await pipeline.recordOf(accepted)]) {
      // The keys of a list with the most shards are up to 4 bytes longer than those of a list with one.
      const spare = recordBytesOf(record) - itemBytes(record);
      expect(spare).toBeGreaterThanOrEqual(0);
      expect(spare).toBeLessThanOrEqual(4);
    }
    const ended = await pipeline.recordOf(accepted);
    const bare = recordBytesOf(without(ended));
    const more = "shown_input".length + Buffer.byteLength(JSON.stringify({ input }));
    expect(keptText(ended) !== undefined).toBe(unitsOf(bare) === unitsOf(bare + more));
  });
});
