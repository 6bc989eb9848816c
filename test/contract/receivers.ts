import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LoggedDelivery, Receiver, Receivers } from "../../src/core/ports/webhooks.ts";

export interface ReceiversUnderTest {
  receivers: Receivers;
  close(): Promise<void>;
}

const at = (second: number): string => new Date(Date.UTC(2027, 0, 1, 0, 0, second)).toISOString();

const newReceiver = (more: Partial<Receiver> = {}): Receiver => ({
  tenant_id: `acme-${randomUUID()}`,
  webhook_id: randomUUID(),
  url: "https://example.com/hook?secret=1",
  events: ["task.completed", "task.failed"],
  types: null,
  description: null,
  enabled: true,
  secret_version: 1,
  rotated_at: [],
  revision: 1,
  created_by: "olga",
  created_at: at(0),
  updated_at: at(0),
  ...more,
});

const logged = (second: number): LoggedDelivery => ({
  at: at(second),
  task_id: randomUUID(),
  id: `msg_${randomUUID()}`,
  purge_at: Math.floor(Date.now() / 1000) + 86_400,
});

/** The promises of receivers and of their logs, for every implementation. */
export function describeReceivers(name: string, make: () => Promise<ReceiversUnderTest>): void {
  describe(name, () => {
    let under: ReceiversUnderTest;
    beforeAll(async () => {
      under = await make();
    });
    afterAll(() => under.close());

    test("a receiver is read as it was put, in its tenant only", async () => {
      const { receivers } = under;
      const receiver = newReceiver({ types: ["mail.send"], description: "the shop", failing_since: at(3) });
      expect(await receivers.put(receiver, 0)).toBe(true);
      expect(await receivers.get(receiver)).toEqual(receiver);
      expect(await receivers.get({ ...receiver, tenant_id: "globex" })).toBeUndefined();
      expect(await receivers.list("globex")).toEqual([]);
    });

    test("a put needs the revision that was seen, and a new receiver none", async () => {
      const { receivers } = under;
      const receiver = newReceiver();
      expect(await receivers.put(receiver, 1)).toBe(false);
      expect(await receivers.put(receiver, 0)).toBe(true);
      expect(await receivers.put({ ...receiver, revision: 2, updated_at: at(1), enabled: false }, 1)).toBe(true);
      expect(await receivers.put({ ...receiver, revision: 2, updated_at: at(2) }, 1)).toBe(false);
      expect(await receivers.get(receiver)).toMatchObject({ enabled: false, revision: 2 });
    });

    test("a tenant's receivers are listed, oldest first, until they are deleted", async () => {
      const { receivers } = under;
      const first = newReceiver({ created_at: at(1) });
      const second = newReceiver({ tenant_id: first.tenant_id, created_at: at(2) });
      await receivers.put(second, 0);
      await receivers.put(first, 0);
      expect(await receivers.list(first.tenant_id)).toEqual([first, second]);
      await receivers.delete(first);
      await receivers.delete(first);
      expect(await receivers.list(first.tenant_id)).toEqual([second]);
    });

    test("a log has each delivery once, newest first, page by page, within a range of time", async () => {
      const { receivers } = under;
      const receiver = newReceiver();
      const all = [logged(1), logged(2), logged(3), logged(4)];
      for (const one of [...all, all[0] as LoggedDelivery]) await receivers.log(receiver, one);
      const newest = all.toReversed();
      const first = await receivers.logged(receiver, { limit: 3 });
      expect(first.items).toEqual(newest.slice(0, 3));
      const rest = await receivers.logged(receiver, { limit: 3, from: first.next });
      expect(rest).toEqual({ items: newest.slice(3), next: undefined });
      const ranged = await receivers.logged(receiver, { limit: 10, after: at(2), before: at(4) });
      expect(ranged.items).toEqual(newest.slice(1, 3));
      expect((await receivers.logged({ ...receiver, webhook_id: randomUUID() }, { limit: 10 })).items).toEqual([]);
    });
  });
}
