import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cloudWatchClient } from "../../src/aws/cloudwatch-client.ts";
import { CloudWatchQueueAges } from "../../src/aws/queue-ages.ts";
import { type Tier, tiers } from "../../src/core/model/words.ts";
import { startCloudWatch } from "../../src/local/cloudwatch/cloudwatch.ts";
import { startSqs } from "../../src/local/sqs/sqs.ts";
import { systemClock } from "../../src/local/time/clock.ts";
import type { PerTier } from "../../src/settings/config.ts";
import { pointTo } from "./emulators.ts";

describe("ages of the tiers' oldest messages", () => {
  const cleanups: (() => Promise<void> | void)[] = [];
  let ages: CloudWatchQueueAges;
  let send: (tier: Tier) => void;
  let now = Date.now();

  beforeAll(async () => {
    const clock = { ...systemClock, now: () => now };
    const sqs = await startSqs({ port: 0, stateDir: undefined, queues: tiers.map((name) => ({ name })), clock });
    const cloudWatch = await startCloudWatch(sqs.store, { clock });
    pointTo("CLOUDWATCH", cloudWatch.url);
    const client = cloudWatchClient();
    cleanups.push(sqs.close, cloudWatch.close, () => client.destroy());
    const urls = Object.fromEntries(tiers.map((tier) => [tier, `${sqs.url}/000000000000/${tier}`])) as PerTier<string>;
    ages = new CloudWatchQueueAges(client, clock, urls);
    send = (tier) => sqs.store.send(tier, { body: "{}" });
  });

  afterAll(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
  });

  test("the ages are in seconds, of the tiers that have messages", async () => {
    expect(await ages.ofTiers()).toEqual({});
    send("low");
    now += 90_000;
    send("low");
    send("critical");
    now += 1_500;
    expect(await ages.ofTiers()).toEqual({ low: 91, critical: 1 });
  });
});
