import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  type DeadLetterMessage,
  largestEnvelopeBytes,
  messageText,
  schemaVersion,
} from "../../../src/core/model/envelope.ts";
import { parseDeadLetter, parseEnvelope } from "../../../src/core/model/read-envelope.ts";
import fc from "../../support/fast-check.ts";
import { envelopeOf, newRecord } from "../../support/records.ts";

const envelope = envelopeOf(newRecord(), { a: [1, "two", null] });
const parsed = (changes: object) => parseEnvelope(JSON.stringify({ ...envelope, ...changes }));

describe("the text of a message", () => {
  test("the text has only characters that SQS takes, and is the same value for every JSON reader", () => {
    const text = fc.string({ unit: fc.oneof(fc.constantFrom("\ufffe", "\uffff", "\\", "\ud800", "\0"), fc.string()) });
    fc.assert(
      fc.property(fc.dictionary(text, text), (value) => {
        const written = messageText(value);
        expect(written).not.toMatch(/[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u);
        expect(JSON.parse(written)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test("the dead letter of the largest envelope, with the longest error, fits into one request unit of SQS", () => {
    const letter: DeadLetterMessage = {
      original_message: "x".repeat(largestEnvelopeBytes),
      failure_reason: "\uffff".repeat(1000),
      failure_type: "\uffff".repeat(128),
      failure_kind: "business_rule",
      attempt_count: 20,
      first_failed_at: "2027-01-01T00:00:00.000Z",
      last_failed_at: "2027-01-01T00:00:00.000Z",
      original_queue: "critical",
    };
    expect(Buffer.byteLength(messageText(letter))).toBeLessThan(64 * 1024);
  });
});

describe("an envelope", () => {
  test("an envelope comes back as it was written", () => {
    const traced = { ...envelope, traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01` };
    expect(parseEnvelope(JSON.stringify(envelope))).toEqual({ ok: true, envelope });
    expect(parseEnvelope(JSON.stringify(traced))).toEqual({ ok: true, envelope: traced });
  });

  test("an envelope keeps any JSON as its input", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const input: unknown = JSON.parse(JSON.stringify(value));
        expect(parsed({ input })).toMatchObject({ ok: true, envelope: { input } });
      }),
    );
  });

  test.each([schemaVersion, "1.1", "1.99"])("an envelope of version %s is read", (schema_version) => {
    expect(parsed({ schema_version })).toMatchObject({ ok: true });
  });

  test.each(["2.0", "0.9", "1", "10.0", "", 1, null])("an envelope of version %j is refused", (schema_version) => {
    expect(parsed({ schema_version })).toMatchObject({ ok: false, reason: expect.stringMatching(/^schema_version: /) });
  });

  test("an envelope keeps fields of a later release for when it is sent again", () => {
    const later = { ...envelope, schema_version: "1.7", hue: "blue" };
    expect(parseEnvelope(JSON.stringify(later))).toEqual({ ok: true, envelope: later });
  });

  test.each([
    ["task_id", "not-a-uuid"],
    ["task_id", undefined],
    ["message_id", ""],
    ["type", "x".repeat(65)],
    ["tenant_id", 7],
    ["requested_by", ""],
    ["correlation_id", "x".repeat(129)],
    ["enqueued_at", null],
    ["max_attempts", 0],
    ["max_attempts", 21],
    ["max_attempts", 1.5],
    ["input_version", 0],
    ["input_version", 1001],
    ["input_version", "2"],
  ])("an envelope with the %s %j is refused by that field's name", (field, value) => {
    expect(parsed({ [field]: value })).toMatchObject({ ok: false, reason: expect.stringContaining(`${field}: `) });
  });

  test.each(["", "{", "null", "7", '"text"', "[]", "{}", "\u0000", '{"task_id":'])("%j is not an envelope", (body) => {
    expect(parseEnvelope(body)).toMatchObject({ ok: false, reason: expect.stringMatching(/\S/) });
  });

  test("reading never throws, whatever the text", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary-ascii" }), fc.json()), (body) => {
        expect(parseEnvelope(body).ok).toBe(false);
      }),
    );
    expect(parseEnvelope("[".repeat(100_000)).ok).toBe(false);
  });
});

describe("a dead letter", () => {
  const letter: DeadLetterMessage = {
    original_message: envelope,
    failure_reason: "gone",
    failure_type: "HTTP 404",
    failure_kind: "not_found",
    attempt_count: 1,
    first_failed_at: "2027-01-01T00:00:00.000Z",
    last_failed_at: "2027-01-01T00:00:00.000Z",
    original_queue: "low",
  };

  test("a dead letter comes back as it was written, with an envelope or with unreadable text", () => {
    const unreadable = { ...letter, original_message: `{"task_id":"${randomUUID()}"` };
    expect(parseDeadLetter(JSON.stringify(letter))).toEqual(letter);
    expect(parseDeadLetter(JSON.stringify(unreadable))).toEqual(unreadable);
  });

  test.each([
    "no JSON",
    "{}",
    JSON.stringify({ ...letter, original_queue: "urgent" }),
    JSON.stringify({ ...letter, original_message: 7 }),
  ])("%s is not a dead letter", (body) => {
    expect(parseDeadLetter(body)).toBeUndefined();
  });
});
