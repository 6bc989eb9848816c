import { describe, expect, test } from "vitest";
import { keptText } from "../../src/core/pipeline/send/kept-input.ts";
import { unitBytes } from "../../src/util/item-bytes.ts";
import { operator, submitter } from "../support/identities.ts";
import { itemBytes } from "../support/item-bytes.ts";
import { memoryPipeline } from "../support/memory-pipeline.ts";
import { typeOf } from "../support/task-types.ts";

describe("the record of a new task with its input fits into one write unit", () => {
  const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
  const correlationId = "0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11";
  const identity = { ...submitter, tenantId: "a-usual-customer", principal: "0123456789abcdef" };
  const tags = { order: "4711", customer: "4712" };

  test.each([
    ["an operator's", 256, { identity: operator }, {}],
    ["a submitter's, with a trace", 220, { identity, traceparent }, {}],
    ["a submitter's, with a trace and tags", 190, { identity, traceparent }, { tags }],
    ["with all options", 94, { identity, traceparent }, { tags, delay_seconds: 5, expires_in_seconds: 60 }],
  ])("%s: inputs of up to %i bytes", async (_, most, call, options) => {
    const { accept } = memoryPipeline([typeOf(() => null, { name: "invoice.generate" })]);
    const kept: number[] = [];
    for (let bytes = 2; bytes <= 256; bytes++) {
      const record = await accept({ input: "x".repeat(bytes - 2), ...options }, { correlationId, ...call });
      if (keptText(record) === undefined) continue;
      kept.push(bytes);
      expect(itemBytes(record)).toBeLessThanOrEqual(unitBytes);
    }
    expect(kept).toEqual(Array.from({ length: most - 1 }, (_, index) => index + 2));
  });
});
