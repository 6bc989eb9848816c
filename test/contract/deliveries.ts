import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Deliveries, Delivery, SlowHosts, Try } from "../../src/core/ports/webhooks.ts";

export interface DeliveriesUnderTest {
  deliveries: Deliveries;
  slowHosts: SlowHosts;
  close(): Promise<void>;
}

const at = (second: number): string => new Date(Date.UTC(2027, 0, 1, 0, 0, second)).toISOString();

const made = (second: number, more: Partial<Try> = { status: 500 }): Try => ({
  at: at(second),
  duration_ms: 12,
  ...more,
});

function newDelivery(more: Partial<Delivery> = {}): Delivery {
  return {
    tenant_id: "acme",
    task_id: randomUUID(),
    id: `msg_${randomUUID()}`,
    type: "mail.send",
    url: "https://example.com/hook?secret=1",
    body: '{"type":"task.completed"}',
    state: "pending",
    tries: [],
    series_from: 0,
    created_at: at(0),
    purge_at: Math.floor(Date.now() / 1000) + 86_400,
    ...more,
  };
}

/** The promises of deliveries and of the bounds of slow hosts, for every implementation. */
export function describeDeliveries(name: string, make: () => Promise<DeliveriesUnderTest>): void {
  describe(name, () => {
    let under: DeliveriesUnderTest;
    beforeAll(async () => {
      under = await make();
    });
    afterAll(() => under.close());

    test("a delivery is read as it was put, in its tenant only", async () => {
      const delivery = newDelivery({
        tries: [made(1), made(2, { error: "no answer" })],
        next_try_at: at(9),
        traceparent: "00-1",
      });
      expect(await under.deliveries.put(delivery, -1)).toBe(true);
      expect(await under.deliveries.get(delivery, delivery.id)).toEqual(delivery);
      expect(await under.deliveries.get({ ...delivery, tenant_id: "globex" }, delivery.id)).toBeUndefined();
      expect(await under.deliveries.get(delivery, "msg_other")).toBeUndefined();
    });

    test("many are read in the order of their keys, with gaps and repeats", async () => {
      const [one, two] = [newDelivery(), newDelivery({ id: "msg_two" })];
      for (const delivery of [one, two]) await under.deliveries.put(delivery, -1);
      const none = { ...one, id: "msg_none" };
      expect(await under.deliveries.getMany([two, none, one, two])).toEqual([two, undefined, one, two]);
    });

    test("hosts are asked for in order, with repeats", async () => {
      const [slow, other] = [`${randomUUID()}.example`, `${randomUUID()}.example`];
      await under.slowHosts.markSlow("acme", slow, 9_000_000_000_000);
      expect(await under.slowHosts.areSlow("acme", [slow, other, slow], 1)).toEqual([true, false, true]);
    });

    test("of two puts that expect the same tries, one succeeds", async () => {
      const delivery = newDelivery();
      const puts = [under.deliveries.put(delivery, -1), under.deliveries.put(delivery, -1)];
      expect((await Promise.all(puts)).sort()).toEqual([false, true]);
      const first = { ...delivery, tries: [made(1)] };
      const second = { ...delivery, tries: [made(2)] };
      const next = await Promise.all([under.deliveries.put(first, 0), under.deliveries.put(second, 0)]);
      expect([...next].sort()).toEqual([false, true]);
      expect(await under.deliveries.get(delivery, delivery.id)).toEqual(next[0] ? first : second);
    });

    test("a put that expects a delivery that is not there changes nothing", async () => {
      const delivery = newDelivery();
      expect(await under.deliveries.put(delivery, 0)).toBe(false);
      expect(await under.deliveries.get(delivery, delivery.id)).toBeUndefined();
    });

    test("the deliveries of a task are listed oldest first", async () => {
      const first = newDelivery({ created_at: at(1) });
      const second = { ...first, id: "msg_a", created_at: at(2) };
      await under.deliveries.put(second, -1);
      await under.deliveries.put(first, -1);
      await under.deliveries.put(newDelivery(), -1);
      expect(await under.deliveries.ofTask(first)).toEqual([first, second]);
      expect(await under.deliveries.ofTask({ ...first, tenant_id: "globex" })).toEqual([]);
    });

    test("failed deliveries of a tenant are listed newest first, page by page, until they are pending again", async () => {
      const tenant_id = `t-${randomUUID().slice(0, 8)}`;
      const failed = [1, 2, 3, 4, 5].map((second) =>
        newDelivery({ tenant_id, state: "failed", tries: [made(second)], type: `type.${second}` }),
      );
      for (const one of failed) await under.deliveries.put(one, -1);
      await under.deliveries.put(newDelivery({ tenant_id, state: "delivered", tries: [made(9)] }), -1);
      const [, , third] = failed;
      await under.deliveries.put({ ...(third as Delivery), state: "pending" }, 1);
      const seen: string[] = [];
      let from: string | undefined;
      do {
        const page = await under.deliveries.listFailed({ tenantId: tenant_id, limit: 2, from });
        expect(page.items.length).toBeLessThanOrEqual(2);
        seen.push(...page.items.map(({ type }) => type));
        from = page.next;
      } while (from !== undefined);
      expect(seen).toEqual(["type.5", "type.4", "type.2", "type.1"]);
      expect((await under.deliveries.listFailed({ tenantId: "nobody", limit: 2 })).items).toEqual([]);
    });

    test("a host is slow for its tenant until the time that is set", async () => {
      const { slowHosts } = under;
      const now = 1_800_000_000_000;
      expect(await slowHosts.areSlow("acme", ["a.example"], now)).toEqual([false]);
      await slowHosts.markSlow("acme", "a.example", now + 60_000);
      expect(await slowHosts.areSlow("acme", ["b.example", "a.example"], now + 59_999)).toEqual([false, true]);
      expect(await slowHosts.areSlow("acme", ["a.example"], now + 60_000)).toEqual([false]);
      expect(await slowHosts.areSlow("globex", ["a.example"], now)).toEqual([false]);
    });

    test("a slow host has ten places in ten seconds, also for takers at the same time", async () => {
      const { slowHosts } = under;
      const now = 1_800_000_000_000;
      const take = (tenant: string, host: string, ms: number) => slowHosts.acquirePermit(tenant, host, ms, 10);
      const taken = await Promise.all(Array.from({ length: 25 }, (_, index) => take("acme", "c.example", now + index)));
      expect(taken.filter(Boolean)).toHaveLength(10);
      expect(await take("acme", "c.example", now + 9_999)).toBe(false);
      expect(await take("acme", "c.example", now + 10_000)).toBe(true);
      expect(await take("globex", "c.example", now)).toBe(true);
      expect(await take("acme", "d.example", now)).toBe(true);
      await slowHosts.releasePermit("acme", "c.example", now + 5_000);
      await slowHosts.releasePermit("acme", "never.example", now);
      expect([await take("acme", "c.example", now), await take("acme", "c.example", now)]).toEqual([true, false]);
    });
  });
}
