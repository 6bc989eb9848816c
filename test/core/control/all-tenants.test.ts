import { expect, test } from "vitest";
import { chainTenants, mergeTenants, type ReadOfTenant } from "../../../src/core/control/all-tenants.ts";
import { FakeClock } from "../../../src/memory/clock.ts";
import { MemoryTenants } from "../../../src/memory/schedules.ts";
import fc from "../../support/fast-check.ts";

interface Item {
  key: string;
  tenant: string;
}

const keyOf = ({ key }: Item) => key;

async function directory(ids: readonly string[]): Promise<MemoryTenants> {
  const tenants = new MemoryTenants();
  for (const id of ids) await tenants.note(id);
  return tenants;
}

/** Lists that stop where they like, newest first: a page may be short, also empty, although others follow. */
function lists(items: readonly Item[], shortBy: number) {
  const reads: string[] = [];
  const read: ReadOfTenant<Item> = async (tenant, { limit, from = "~" }) => {
    reads.push(tenant);
    const rest = items
      .filter((item) => item.tenant === tenant && item.key < from)
      .sort((a, b) => (a.key < b.key ? 1 : -1));
    const seen = rest.slice(0, Math.max(1, limit - shortBy));
    const wanted = seen.filter(({ key }) => !key.endsWith("0"));
    return { items: wanted, next: rest.length > seen.length ? seen.at(-1)?.key : undefined };
  };
  return { read, reads };
}

async function readWhole(page: (from: string | undefined) => Promise<{ items: Item[]; next: string | undefined }>) {
  const pages: Item[][] = [];
  let from: string | undefined;
  do {
    const { items, next } = await page(from);
    pages.push(items);
    from = next;
  } while (from !== undefined && pages.length < 5_000);
  return pages;
}

const keyText = (number: number) => String(number).padStart(6, "0");

test("a merged list has each item of each tenant once, newest first, whatever the pages of the tenants are", async () => {
  const tenantIds = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,3}$/), { minLength: 1, maxLength: 6 });
  const numbers = fc.uniqueArray(fc.nat(9_999), { maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(
      tenantIds,
      numbers,
      fc.integer({ min: 1, max: 20 }),
      fc.nat(3),
      async (ids, all, limit, shortBy) => {
        const items = all.map((n, at) => ({ key: keyText(n), tenant: ids[at % ids.length] ?? "" }));
        const tenants = await directory(ids);
        const { read } = lists(items, shortBy);
        const pages = await readWhole((from) => mergeTenants(tenants, { keyOf, read }, { limit, from }));
        const wanted = items.map(keyOf).filter((key) => !key.endsWith("0"));
        expect(pages.flat().map(keyOf)).toEqual(wanted.sort().reverse());
        for (const page of pages) expect(page.length).toBeLessThanOrEqual(limit);
      },
    ),
  );
});

test("a page reads at most a hundred tenants, and of each no more than its share", async () => {
  const ids = Array.from({ length: 150 }, (_, n) => `t${String(n).padStart(3, "0")}`);
  const items = ids.map((tenant, n) => ({ key: keyText(10 * n + 1), tenant }));
  const { read, reads } = lists(items, 0);
  const tenants = await directory(ids);
  const limits: number[] = [];
  const counted: ReadOfTenant<Item> = (tenant, page) => {
    limits.push(page.limit);
    return read(tenant, page);
  };
  const first = await mergeTenants(tenants, { keyOf, read: counted }, { limit: 100, from: undefined });
  expect({ tenants: reads.length, most: Math.max(...limits) }).toEqual({ tenants: 100, most: 10 });
  expect(first.items).toHaveLength(100);
  const second = await mergeTenants(tenants, { keyOf, read }, { limit: 100, from: first.next });
  expect(second.items).toHaveLength(50);
  expect(second.next).toBeUndefined();
});

test("a chained list has each item once, one tenant after the other", async () => {
  const items = ["a", "b", "c"].flatMap((tenant, at) => [1, 2, 3].map((n) => ({ key: keyText(100 * at + n), tenant })));
  const ports = { tenants: await directory(["a", "b", "c", "empty"]), clock: new FakeClock(0) };
  for (const limit of [1, 2, 3, 10]) {
    const { read } = lists(items, 0);
    const pages = await readWhole((from) => chainTenants(ports, read, { limit, from }));
    expect(pages.flat().map(({ tenant, key }) => `${tenant}${Number(key)}`)).toEqual([
      ...["a3", "a2", "a1", "b103", "b102", "b101", "c203", "c202", "c201"],
    ]);
  }
});
