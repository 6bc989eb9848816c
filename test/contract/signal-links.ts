import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SignalLink, SignalLinks } from "../../src/core/ports/steps.ts";

export interface SignalLinksUnderTest {
  links: SignalLinks;
  close(): Promise<void>;
}

/** The promises of links, for every implementation. */
export function describeSignalLinks(name: string, make: () => Promise<SignalLinksUnderTest>): void {
  describe(name, () => {
    let under: SignalLinksUnderTest;
    beforeAll(async () => {
      under = await make();
    });
    afterAll(() => under.close());

    const now = Date.UTC(2027, 0, 1);
    const linkOf = (more: Partial<SignalLink> = {}): SignalLink => ({
      ...{ tenant_id: "acme", task_id: randomUUID(), created_at: "2027-01-01T00:00:00.000Z", name: "approved" },
      ...more,
    });

    test("a link is found until its end, as it was created", async () => {
      for (const link of [linkOf(), linkOf({ schema: '{"type":"object"}' })]) {
        const hash = randomUUID();
        await under.links.create(hash, link, now + 1_000);
        expect(await under.links.find(hash, now + 999)).toEqual(link);
        expect(await under.links.find(hash, now + 1_000)).toBeUndefined();
      }
    });

    test("a late repeat of the call does not change a link", async () => {
      const [hash, link] = [randomUUID(), linkOf()];
      await under.links.create(hash, link, now + 1_000);
      await under.links.create(hash, linkOf({ name: "rejected" }), now + 9_000);
      expect(await under.links.find(hash, now)).toEqual(link);
      expect(await under.links.find(hash, now + 1_000)).toBeUndefined();
    });

    test("an unknown hash finds nothing", async () => {
      expect(await under.links.find(randomUUID(), now)).toBeUndefined();
    });
  });
}
