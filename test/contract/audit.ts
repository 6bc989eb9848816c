import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AuditEntry, AuditLog, AuditQuery } from "../../src/core/ports/audit.ts";

export interface AuditUnderTest {
  audit: AuditLog;
  close(): Promise<void>;
}

const at = (second: number): string => new Date(Date.UTC(2027, 0, 1, 0, 0, second)).toISOString();

/** The promises of the audit, for every implementation. */
export function describeAudit(name: string, make: () => Promise<AuditUnderTest>): void {
  describe(name, () => {
    let under: AuditUnderTest;
    beforeAll(async () => {
      under = await make();
    });
    afterAll(() => under.close());

    const newEntry = (tenant_id: string, second: number, more: Partial<AuditEntry> = {}): AuditEntry => ({
      ...{ tenant_id, at: at(second), audit_id: randomUUID(), actor: "olga", role: "operator" },
      ...{ action: "cancelTask", target: { task_id: randomUUID() }, correlation_id: "c" },
      ...more,
    });
    const addAll = async (...entries: AuditEntry[]) => {
      for (const entry of entries) await under.audit.add(entry);
    };
    const listed = async (query: Partial<AuditQuery> & { tenantId: string }) => {
      const entries: AuditEntry[] = [];
      let from: string | undefined;
      do {
        const page = await under.audit.list({ limit: 100, ...query, from });
        expect(page.items.length).toBeLessThanOrEqual(query.limit ?? 100);
        entries.push(...page.items);
        from = page.next;
      } while (from !== undefined);
      return entries;
    };

    test("entries are listed as they were added, newest first, in their tenant only", async () => {
      const tenant = randomUUID();
      const request = { filter: { type: "a.b" }, ä: ["東京 🎈", null, 1.5] };
      const first = newEntry(tenant, 1, { request });
      const { role: _, ...second } = newEntry(tenant, 2, { actor: "cli:olga", action: "keys create", target: {} });
      await addAll(second, first, newEntry(`${tenant}x`, 3));
      expect(await listed({ tenantId: tenant })).toEqual([second, first]);
      expect(await listed({ tenantId: randomUUID() })).toEqual([]);
    });

    test("an entry gets its answer, and one that is gone is not made by it", async () => {
      const tenant = randomUUID();
      const entry = newEntry(tenant, 1);
      await addAll(entry);
      await under.audit.answered(entry, 202);
      await under.audit.answered({ ...entry, audit_id: "other" }, 500);
      expect(await listed({ tenantId: tenant })).toEqual([{ ...entry, status: 202 }]);
    });

    test("an entry that is added again is replaced", async () => {
      const tenant = randomUUID();
      const entry = newEntry(tenant, 1, { request: { role: "operator" } });
      const more = { ...entry, target: { ...entry.target, key_id: "abcdefgh" } };
      await addAll(entry, more);
      await under.audit.answered(entry, 201);
      expect(await listed({ tenantId: tenant })).toEqual([{ ...more, status: 201 }]);
    });

    test("pages have every entry once, also those of one time", async () => {
      const tenant = randomUUID();
      const entries = Array.from({ length: 23 }, (_, index) => newEntry(tenant, Math.floor(index / 5)));
      await addAll(...entries);
      const found = await listed({ tenantId: tenant, limit: 4 });
      expect(found.map(({ audit_id }) => audit_id).sort()).toEqual(entries.map(({ audit_id }) => audit_id).sort());
      expect(found.map((entry) => entry.at)).toEqual(
        found
          .map((entry) => entry.at)
          .sort()
          .reverse(),
      );
    });

    test("a full page may be the last one", async () => {
      const tenant = randomUUID();
      await addAll(newEntry(tenant, 1), newEntry(tenant, 2));
      const { items, next } = await under.audit.list({ tenantId: tenant, limit: 2 });
      expect([items.length, next]).toEqual([2, undefined]);
    });

    test("entries are found by actor, action, task and time", async () => {
      const tenant = randomUUID();
      const task_id = randomUUID();
      const [a, b, c] = [
        newEntry(tenant, 1, { actor: "ann" }),
        newEntry(tenant, 2, { action: "retryTask", target: { task_id } }),
        newEntry(tenant, 3, { target: { task_id, name: "go" } }),
      ];
      await addAll(a, b, c);
      expect(await listed({ tenantId: tenant, actor: "ann" })).toEqual([a]);
      expect(await listed({ tenantId: tenant, action: "retryTask" })).toEqual([b]);
      expect(await listed({ tenantId: tenant, taskId: task_id })).toEqual([c, b]);
      expect(await listed({ tenantId: tenant, taskId: task_id, actor: "ann" })).toEqual([]);
      expect(await listed({ tenantId: tenant, after: at(2) })).toEqual([c, b]);
      expect(await listed({ tenantId: tenant, before: at(2) })).toEqual([a]);
      expect(await listed({ tenantId: tenant, after: at(2), before: at(3) })).toEqual([b]);
      expect(await listed({ tenantId: tenant, after: at(3), before: at(2) })).toEqual([]);
      expect(await listed({ tenantId: tenant, after: at(2), before: at(2) })).toEqual([]);
    });

    test("one entry among many others is found", async () => {
      const tenant = randomUUID();
      const wanted = newEntry(tenant, 0, { actor: "ann" });
      await addAll(wanted, ...Array.from({ length: 450 }, (_, index) => newEntry(tenant, index + 1)));
      expect(await listed({ tenantId: tenant, actor: "ann", limit: 1 })).toEqual([wanted]);
    });
  });
}
