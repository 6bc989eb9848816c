import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { deriveSecret } from "../../src/core/notify/secret.ts";
import { signedHeaders } from "../../src/webhooks/sign.ts";
import fc from "../support/fast-check.ts";

const key = Buffer.alloc(32, 7);
const [first, second] = [deriveSecret(key, "acme", 2), deriveSecret(key, "acme", 1)];
const other = deriveSecret(key, "globex", 1);
const id = "msg_Zm9vYmFy";
const now = Date.UTC(2027, 0, 1, 12, 0, 0, 999);
const body = '{"type":"task.completed","data":{"tags":{"n":"Grüße 🦤"}}}';

beforeEach(() => {
  vi.useFakeTimers({ now, toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** The signature by the text of Standard Webhooks. */
const expected = (secret: string, timestamp: number, text = body) =>
  `v1,${createHmac("sha256", Buffer.from(secret.slice("whsec_".length), "base64"))
    .update(`${id}.${timestamp}.${text}`)
    .digest("base64")}`;

test("the headers have the id, the whole seconds, and one signature for each secret in their order", () => {
  const seconds = Math.floor(now / 1000);
  expect(signedHeaders([first, second], id, now, body)).toEqual({
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": `${expected(first, seconds)} ${expected(second, seconds)}`,
  });
});

test("any body and time have the signature that the standard describes", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 0, max: 4e12 }), (text, at) => {
      expect(signedHeaders([first], id, at, text)["webhook-signature"]).toBe(
        expected(first, Math.floor(at / 1000), text),
      );
    }),
  );
});

describe("the standard's library", () => {
  test("it accepts a webhook with any of its secrets", () => {
    const headers = signedHeaders([first, second], id, now, body);
    for (const secret of [first, second]) {
      expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
    }
  });

  test("it refuses another tenant's secret, another body, another id and another time", () => {
    const headers = signedHeaders([first], id, now, body);
    const refused = (secret: string, text: string, changed: Record<string, string> = {}) =>
      expect(() => new Webhook(secret).verify(text, { ...headers, ...changed })).toThrow("No matching signature");
    refused(other, body);
    refused(first, `${body} `);
    refused(first, body, { "webhook-id": "msg_other" });
    refused(first, body, { "webhook-timestamp": String(Math.floor(now / 1000) - 1) });
  });

  test("it refuses a try that is more than five minutes old", () => {
    expect(() => new Webhook(first).verify(body, signedHeaders([first], id, now - 302_000, body))).toThrow("too old");
    expect(new Webhook(first).verify(body, signedHeaders([first], id, now - 299_000, body))).toBeDefined();
  });
});

test("a secret that is not one is an error, not a weak signature", () => {
  expect(() => signedHeaders(["whsec_"], id, now, body)).toThrow();
  expect(() => signedHeaders(["whsec_!!!"], id, now, body)).toThrow();
});
