import { describe, expect, test } from "vitest";
import {
  type ApiKey,
  bearerToken,
  hashSecret,
  identityOf,
  parseApiKey,
  withoutSecrets,
} from "../../../src/core/model/keys.ts";

const now = "2027-01-01T12:00:00.000Z";
const secret = "s3cret_s3cret-s3cret_s3cret";
const key: ApiKey = { key_id: "abcd1234", secret_hash: hashSecret(secret), tenant_id: "acme", role: "operator" };

test("a secret is stored as its SHA-256 only", () => {
  expect(hashSecret("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});

describe("an API key's token", () => {
  test("a token is split into id and secret, which may have underscores", () => {
    expect(parseApiKey(`ofl_abcd1234_${secret}`)).toEqual({ keyId: "abcd1234", secret });
  });

  test.each([
    "",
    "ofl_",
    "ofl_abcd1234",
    "ofl_abcd1234_short",
    `ofl_ab_${secret}`,
    `ofl_ab-d1234_${secret}`,
    `OFL_abcd1234_${secret}`,
    `xofl_abcd1234_${secret}`,
    `ofl_abcd1234_${secret}\n`,
    `ofl_abcd1234_${secret}!`,
    `ofl_abcd1234_${"x".repeat(129)}`,
    `ofl_${"a".repeat(33)}_${secret}`,
  ])("%j is not a token", (token) => {
    expect(parseApiKey(token)).toBeUndefined();
  });
});

describe("a text without the secrets of keys", () => {
  const token = `ofl_abcd1234_${"s-_9".repeat(10)}`;
  test.each([
    [token, "ofl_abcd1234_…"],
    [`/keys/${token}/x ${token}.`, "/keys/ofl_abcd1234_…/x ofl_abcd1234_…."],
    [JSON.stringify({ label: token, [token]: 1 }), '{"label":"ofl_abcd1234_…","ofl_abcd1234_…":1}'],
    [token.slice(0, 20), "ofl_abcd1234_…"],
    ["ofl_abcd1234", "ofl_abcd1234"],
    ["/tasks/profl_ab_c", "/tasks/profl_ab_c"],
  ])("%s", (text, expected) => expect(withoutSecrets(text)).toBe(expected));
});

describe("the identity of a key's bearer", () => {
  test("a key identifies its tenant, its own id and its role", () => {
    expect(identityOf(key, secret, now)).toEqual({ tenantId: "acme", principal: "abcd1234", role: "operator" });
  });

  test.each([
    ["with another secret", {}, `${secret}x`],
    ["with an empty secret", {}, ""],
    ["with a stored hash that is none", { secret_hash: "zz" }, secret],
    ["with a stored hash that is empty", { secret_hash: "" }, secret],
    ["when it is revoked", { revoked_at: "2027-01-01T11:00:00.000Z" }, secret],
    ["when it has expired", { expires_at: now }, secret],
  ])("a key identifies no caller %s", (_, fields, given) => {
    expect(identityOf({ ...key, ...fields }, given, now)).toBeUndefined();
  });

  test("a key works until the moment it expires", () => {
    const expiring = { ...key, expires_at: "2027-01-01T12:00:00.001Z" };
    expect(identityOf(expiring, secret, now)).toEqual(identityOf(key, secret, now));
    expect(identityOf(expiring, secret, "2027-01-01T12:00:00.001Z")).toBeUndefined();
  });
});

describe("a bearer's token", () => {
  test.each([
    ["Bearer abc", "abc"],
    ["bearer abc", "abc"],
    ["BEARER   a.b-c_~+/=", "a.b-c_~+/="],
    [undefined, undefined],
    ["", undefined],
    ["abc", undefined],
    ["Bearer", undefined],
    ["Bearer ", undefined],
    ["Bearer a b", undefined],
    ["Basic abc", undefined],
    [`Bearer ${"x".repeat(8193)}`, undefined],
  ])("the token in %.40j is %j", (header, token) => {
    expect(bearerToken(header)).toBe(token);
  });
});
