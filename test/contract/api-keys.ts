import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { newApiKey } from "../../src/core/model/keys.ts";
import type { KeyStore } from "../../src/core/ports/tasks.ts";

const at = (second: number) => `2027-01-01T00:00:${String(second).padStart(2, "0")}.000Z`;

/** What every implementation of `KeyStore` does. */
export function keyStoreContract(make: () => KeyStore) {
  const keyOf = (tenant_id: string, second = 0) =>
    newApiKey({ tenant_id, role: "submitter", label: "ci" }, at(second), randomBytes).key;

  test("a key is found as it was added", async () => {
    const store = make();
    const key = keyOf("acme");
    await store.add(key);
    expect(await store.find(key.key_id)).toEqual(key);
    expect(await store.find("abcd1234")).toBeUndefined();
  });

  test("the list has the tenant's own keys only, the oldest first", async () => {
    const store = make();
    const [second, first, other] = [keyOf("acme", 2), keyOf("acme", 1), keyOf("acme-2", 3)];
    for (const key of [second, first, other]) await store.add(key);
    expect(await store.list("acme")).toEqual([first, second]);
    expect(await store.list("nobody")).toEqual([]);
    expect((await store.tenants()).toSorted()).toEqual(["acme", "acme-2"]);
  });

  test("more keys than one request fetches are all listed", async () => {
    const store = make();
    for (let count = 0; count < 105; count++) await store.add(keyOf("acme", count % 60));
    expect(await store.list("acme")).toHaveLength(105);
  });

  test("a second revocation keeps the time of the first", async () => {
    const store = make();
    const key = keyOf("acme");
    await store.add(key);
    expect(await store.revoke(key.key_id, at(1))).toEqual({ ...key, revoked_at: at(1) });
    expect(await store.revoke(key.key_id, at(2))).toEqual({ ...key, revoked_at: at(1) });
    expect(await store.find(key.key_id)).toEqual({ ...key, revoked_at: at(1) });
  });

  test("a key that does not exist can be neither revoked nor touched", async () => {
    const store = make();
    expect(await store.revoke("abcd1234", at(1))).toBeUndefined();
    await store.touch("abcd1234", at(1), at(0));
    expect(await store.find("abcd1234")).toBeUndefined();
  });

  test("a touch is stored unless a newer one than the given time is stored already", async () => {
    const store = make();
    const key = keyOf("acme");
    await store.add(key);
    await store.touch(key.key_id, at(10), at(0));
    expect((await store.find(key.key_id))?.last_used_at).toBe(at(10));
    await store.touch(key.key_id, at(15), at(5));
    expect((await store.find(key.key_id))?.last_used_at).toBe(at(10));
    await store.touch(key.key_id, at(25), at(15));
    expect((await store.find(key.key_id))?.last_used_at).toBe(at(25));
  });
}
