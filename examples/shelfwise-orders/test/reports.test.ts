import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createClient } from "offload/client";
import { startLocalServer, type TestServer } from "offload/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { schedules } from "../tasks/schedules.ts";
import { deployed } from "./world.ts";

test("the daily report is a schedule at 02:00 for each tenant", () => {
  expect(schedules).toMatchObject([{ name: "report.nightly", cron: "0 2 * * *", timezone: "Europe/Berlin" }]);
  expect(schedules[0]).not.toHaveProperty("tenant_id");
});

describe.skipIf(deployed !== undefined)("on this machine (a deployment's schedule fires at 02:00)", () => {
  const sales = { orders: 2, cents: 4200, trending: { Dune: 3 } };

  /** Stands for the shop's server: the data of one tenant is broken, and staff is no shop. */
  const shop = createServer((request, response) => {
    const status = request.url?.startsWith("/tenants/broken/")
      ? 422
      : request.url?.startsWith("/tenants/staff/")
        ? 404
        : 200;
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(sales));
  });
  let offload: TestServer;
  beforeAll(async () => {
    await new Promise<void>((listening) => shop.listen(0, "127.0.0.1", listening));
    offload = await startLocalServer({
      env: {
        OFFLOAD_KEYS:
          "key-acme:acme:operator,key-broken:broken:operator,key-globex:globex:operator,key-staff:staff:admin",
        OFFLOAD_TASKS: "test/every-minute",
        SHOP_URL: `http://127.0.0.1:${(shop.address() as AddressInfo).port}`,
        SHOP_KEY: "key",
      },
    });
  }, 120_000);
  afterAll(async () => {
    await offload.stop();
    shop.close();
  });

  test("one time of the schedule is a task for each tenant, and one tenant's failure touches no other", {
    timeout: 240_000,
  }, async () => {
    const reportOf = async (tenant: string) => {
      const client = createClient({ url: offload.url, key: `key-${tenant}` });
      const { items } = await client.list({ type: "report.daily" }).page({ limit: 100 });
      const report = items.at(-1);
      const letters = await client.deadLetters.count("replay", { filter: {} });
      return {
        status: report?.status,
        result: report?.result,
        outcome: report?.outcome,
        letters,
        at: report?.scheduled_for,
      };
    };
    const ended = expect.poll(() => reportOf("acme").then(({ status }) => status), { timeout: 150_000, interval: 500 });
    await ended.toBe("completed");
    for (const tenant of ["globex", "broken", "staff"]) {
      await expect
        .poll(() => reportOf(tenant).then(({ status }) => status), { timeout: 30_000 })
        .toMatch(/completed|failed/);
    }
    const day = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    const acme = await reportOf("acme");
    expect(acme).toMatchObject({ status: "completed", result: { day, ...sales }, letters: 0 });
    expect(await reportOf("globex")).toEqual(acme);
    expect(await reportOf("broken")).toMatchObject({ status: "failed", result: null, at: acme.at });
    expect((await reportOf("broken")).letters).toBeGreaterThan(0);
    expect(await reportOf("staff")).toMatchObject({ status: "completed", outcome: "NO_SHOP", letters: 0 });
  });
});
