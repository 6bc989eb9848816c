import { createHmac } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import {
  deriveSecret,
  fixedWebhookKey,
  parseWebhookKey,
  rotateSecret,
  TooManyRotations,
  webhookSecrets,
} from "../../../src/core/notify/secret.ts";
import { FakeClock } from "../../../src/memory/clock.ts";
import { MemorySecretVersions } from "../../../src/memory/secret-versions.ts";

const key = Buffer.alloc(32, 7);
const hours = 3_600_000;

/** HKDF as RFC 5869 describes it, for 32 bytes. */
function hkdf(salt: string, info: string): Buffer {
  const pseudorandom = createHmac("sha256", salt).update(key).digest();
  return createHmac("sha256", pseudorandom)
    .update(Buffer.concat([Buffer.from(info), Buffer.from([1])]))
    .digest();
}

test("a secret follows from the master key, the tenant and the version", () => {
  const expected = `whsec_${hkdf("offload webhooks", "acme#3").toString("base64")}`;
  expect(deriveSecret(key, "acme", 3)).toBe(expected);
  expect(deriveSecret(key, "acme", 3)).toMatch(/^whsec_[A-Za-z\d+/]{43}=$/);
});

test("every tenant, version and master key has a secret of its own", () => {
  const keys = [key, Buffer.alloc(32, 8)];
  const secrets = keys.flatMap((each) =>
    ["acme", "acme1", "acme-1", "Acme"].flatMap((tenant) =>
      [1, 2, 11].map((version) => deriveSecret(each, tenant, version)),
    ),
  );
  expect(new Set(secrets).size).toBe(24);
});

test("a secret stays the same over releases", () => {
  expect(deriveSecret(key, "acme", 1)).toBe(`whsec_${hkdf("offload webhooks", "acme#1").toString("base64")}`);
});

describe("rotation", () => {
  let clock: FakeClock;
  let ports: Parameters<typeof webhookSecrets>[0];
  beforeEach(() => {
    clock = new FakeClock();
    ports = { key: fixedWebhookKey(key.toString("base64")), versions: new MemorySecretVersions(), clock };
  });
  const versionsOf = async (tenant = "acme") => {
    const all = new Map(Array.from({ length: 50 }, (_, index) => [deriveSecret(key, tenant, index + 1), index + 1]));
    return (await webhookSecrets(ports).of(tenant)).map((secret) => all.get(secret));
  };

  test("a tenant has one secret at first", async () => {
    expect(await versionsOf()).toEqual([1]);
  });

  test("both secrets sign for 24 hours after a rotation, the new one first", async () => {
    await rotateSecret(ports, "acme");
    expect(await versionsOf()).toEqual([2, 1]);
    await clock.advance(24 * hours - 1);
    expect(await versionsOf()).toEqual([2, 1]);
    await clock.advance(1);
    expect(await versionsOf()).toEqual([2]);
  });

  test("each secret signs for 24 hours after its own rotation", async () => {
    await rotateSecret(ports, "acme");
    await clock.advance(10 * hours);
    await rotateSecret(ports, "acme");
    await clock.advance(10 * hours);
    await rotateSecret(ports, "acme");
    expect(await versionsOf()).toEqual([4, 3, 2, 1]);
    await clock.advance(4 * hours);
    expect(await versionsOf()).toEqual([4, 3, 2]);
    await clock.advance(10 * hours);
    expect(await versionsOf()).toEqual([4, 3]);
    await clock.advance(10 * hours);
    expect(await versionsOf()).toEqual([4]);
  });

  test("at most five secrets sign: a fifth rotation within 24 hours is refused, with the time of the next one", async () => {
    for (let count = 0; count < 4; count++) {
      await rotateSecret(ports, "acme");
      await clock.advance(1 * hours);
    }
    expect(await versionsOf()).toEqual([5, 4, 3, 2, 1]);
    const refused = rotateSecret(ports, "acme");
    await expect(refused).rejects.toBeInstanceOf(TooManyRotations);
    await expect(refused).rejects.toThrow(
      "The webhook secret of acme was rotated 4 times within 24 hours, which is the maximum, because each earlier secret signs " +
        "for 24 hours. Rotate it again after 2027-01-02T00:00:00.000Z.",
    );
    expect(await versionsOf()).toEqual([5, 4, 3, 2, 1]);
    await clock.advance(20 * hours);
    await rotateSecret(ports, "acme");
    expect(await versionsOf()).toEqual([6, 5, 4, 3, 2]);
  });

  test("rotations far apart are not bounded", async () => {
    for (let count = 0; count < 20; count++) {
      await rotateSecret(ports, "acme");
      await clock.advance(25 * hours);
    }
    expect(await versionsOf()).toEqual([21]);
  });

  test("a rotation of one tenant does not change another tenant's secret", async () => {
    await rotateSecret(ports, "acme");
    expect(await versionsOf("globex")).toEqual([1]);
  });

  test("rotations at different times that overlap both count", async () => {
    const { versions } = ports;
    const put = versions.put.bind(versions);
    let first = true;
    versions.put = async (tenant, next) => {
      if (first) {
        first = false;
        await clock.advance(1000);
        await rotateSecret(ports, tenant);
      }
      return put(tenant, next);
    };
    await rotateSecret(ports, "acme");
    expect(await versionsOf()).toEqual([3, 2, 1]);
  });
});

describe("master keys", () => {
  test("a master key is 32 bytes as base64", () => {
    expect(parseWebhookKey(key.toString("base64"))).toEqual(key);
  });

  test.each([
    "",
    "secret",
    key.toString("hex"),
    Buffer.alloc(31).toString("base64"),
    Buffer.alloc(33).toString("base64"),
  ])("%j is refused, and the error does not contain it", (text) => {
    expect(() => parseWebhookKey(text)).toThrow(/^expected 32 bytes as base64$/);
  });

  test("a line break after the key is refused", () => {
    expect(() => parseWebhookKey(`${key.toString("base64")}\n`)).toThrow();
  });
});
