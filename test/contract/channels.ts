import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Channel, Channels } from "../../src/core/ports/notify.ts";

export interface ChannelsUnderTest {
  channels: Channels;
  close(): Promise<void>;
}

const newChannel = (more: Partial<Channel> = {}): Channel => ({
  channel_id: randomUUID(),
  tenant_id: "acme",
  principal: "olga",
  scope: "own",
  ...more,
});

/** The promises of channels, for every implementation. */
export function describeChannels(name: string, make: () => Promise<ChannelsUnderTest>): void {
  describe(name, () => {
    let under: ChannelsUnderTest;
    let channels: Channels;
    beforeAll(async () => {
      under = await make();
      channels = under.channels;
    });
    afterAll(() => under.close());

    const now = Date.UTC(2027, 0, 1);
    const expiresAt = now + 60_000;
    const created = async (channel = newChannel()) => {
      const hash = randomUUID();
      await channels.create(hash, channel, expiresAt);
      return { hash, channel };
    };

    test("a ticket gives its channel to one connection, which can repeat that", async () => {
      const { hash, channel } = await created(newChannel({ scope: "tenant", principal: "a#b c" }));
      expect(await channels.redeem(hash, "connection-1", now)).toEqual(channel);
      expect(await channels.redeem(hash, "connection-1", now)).toEqual(channel);
      expect(await channels.redeem(hash, "connection-2", now)).toBeUndefined();
    });

    test("of many connections with one ticket at the same time, one gets the channel", async () => {
      const { hash } = await created();
      const ids = Array.from({ length: 20 }, (_, index) => `connection-${index}`);
      const found = await Promise.all(ids.map((id) => channels.redeem(hash, id, now)));
      expect(found.filter((channel) => channel !== undefined)).toHaveLength(1);
    });

    test("a ticket that does not exist gives nothing, and is not created by that", async () => {
      const hash = randomUUID();
      expect(await channels.redeem(hash, "connection-1", now)).toBeUndefined();
      await channels.create(hash, newChannel(), expiresAt);
      expect(await channels.redeem(hash, "connection-2", now)).toBeDefined();
    });

    test("a ticket gives nothing from its expiry on", async () => {
      const { hash } = await created();
      expect(await channels.redeem(hash, "connection-1", expiresAt)).toBeUndefined();
      expect(await channels.redeem(hash, "connection-1", expiresAt - 1)).toBeDefined();
    });

    test("a second create of a used ticket does not make it valid again", async () => {
      const { hash, channel } = await created();
      await channels.redeem(hash, "connection-1", now);
      await channels.create(hash, channel, expiresAt);
      expect(await channels.redeem(hash, "connection-2", now)).toBeUndefined();
    });

    test("a principal opens a bounded number of channels in a minute, also at the same time", async () => {
      const channel = newChannel({ principal: "busy" });
      const admitted = await Promise.all(Array.from({ length: 12 }, () => channels.admit(channel, 7, 5)));
      expect(admitted.filter(Boolean)).toHaveLength(5);
      expect(await channels.admit(channel, 8, 5)).toBe(true);
      expect(await channels.admit({ ...channel, principal: "other" }, 7, 5)).toBe(true);
      expect(await channels.admit({ ...channel, tenant_id: "globex" }, 7, 5)).toBe(true);
    });
  });
}
