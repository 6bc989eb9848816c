import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SecretVersions } from "../../src/core/notify/secret.ts";

export interface SecretVersionsUnderTest {
  versions: SecretVersions;
  close(): Promise<void>;
}

const times = ["2027-01-01T12:00:00.000Z", "2027-01-01T00:00:00.000Z"];

/** The promises of secret versions, for every implementation. */
export function describeSecretVersions(name: string, make: () => Promise<SecretVersionsUnderTest>): void {
  describe(name, () => {
    let under: SecretVersionsUnderTest;
    let versions: SecretVersions;
    beforeAll(async () => {
      under = await make();
      versions = under.versions;
    });
    afterAll(() => under.close());

    test("a tenant that never rotated has no version", async () => {
      expect(await versions.get(randomUUID())).toBeUndefined();
    });

    test("a version is read as it was stored", async () => {
      const tenant = randomUUID();
      expect(await versions.put(tenant, { version: 2, rotated_at: times.slice(1) })).toBe(true);
      expect(await versions.get(tenant)).toEqual({ version: 2, rotated_at: times.slice(1) });
      expect(await versions.put(tenant, { version: 3, rotated_at: times })).toBe(true);
      expect(await versions.get(tenant)).toEqual({ version: 3, rotated_at: times });
    });

    test("a version follows only the version before it", async () => {
      const tenant = randomUUID();
      expect(await versions.put(tenant, { version: 3, rotated_at: times })).toBe(false);
      expect(await versions.get(tenant)).toBeUndefined();
      await versions.put(tenant, { version: 2, rotated_at: times.slice(1) });
      for (const version of [2, 4, 5]) expect(await versions.put(tenant, { version, rotated_at: times })).toBe(false);
      expect(await versions.get(tenant)).toEqual({ version: 2, rotated_at: times.slice(1) });
    });

    test("the same version with the same last rotation can be stored again, as a repeated request does", async () => {
      const tenant = randomUUID();
      for (const version of [2, 2, 3, 3]) expect(await versions.put(tenant, { version, rotated_at: times })).toBe(true);
      expect(await versions.get(tenant)).toEqual({ version: 3, rotated_at: times });
    });

    test("of many rotations at the same time one succeeds", async () => {
      const tenant = randomUUID();
      const all = Array.from({ length: 20 }, (_, index) => [`2027-01-01T00:00:00.${100 + index}Z`]);
      const stored = await Promise.all(all.map((rotated_at) => versions.put(tenant, { version: 2, rotated_at })));
      expect(stored.filter(Boolean)).toHaveLength(1);
      expect(await versions.get(tenant)).toEqual({ version: 2, rotated_at: all[stored.indexOf(true)] });
    });

    test("tenants have versions of their own", async () => {
      const tenant = randomUUID();
      await versions.put(tenant, { version: 2, rotated_at: times });
      expect(await versions.get(`${tenant}-2`)).toBeUndefined();
      expect(await versions.put(`${tenant}-2`, { version: 2, rotated_at: times })).toBe(true);
    });
  });
}
